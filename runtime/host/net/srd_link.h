// The queue pair to one peer over SRD, and what is under way on it. What is told to the receiver, and that nothing relies on
// order, is in srd.h; how to do without a NIC that reaches the heaps, in srd_slots.h.
#pragma once
#include <deque>
#include <memory>
#include <vector>

#include "efadv.h"
#include "srd_slots.h"

namespace mk::rt::net::srd {

// What a peer has for this rank.
struct Target {
  uint64_t heap, slots;  // addresses as its NIC takes them; slots: 0 where that reaches the heap
  uint32_t key, qpn;     // key: of either
  verbs::Gid gid;
};

class Link {
 public:
  // slots: that the peer fills; null where the NIC reaches the heap, of which heap_key is the key
  Link(const Site& site, const Nic& nic, const verbs::EfaDeviceAttr& efa, verbs::Cq* cq, int node, uint32_t sends, uint32_t receives,
       uint32_t heap_key, const std::byte* slots);

  uint32_t qpn() const { return qp_->number; }
  int rank() const { return rank_; }
  void connect(int rank, const Target& peer);

  bool post(const Write& write);
  void send();  // what waits, as far as there is room
  void take(Events& events) {
    if (arriving_) arriving_->advance(receiver_, events, empty_);
  }
  // Every immediate and note takes one: the queue is filled again after each look.
  void post_receives();

  // What the completion queue said.
  static bool is_receive(const verbs::Wc& wc) { return wc.wr_id & kReceiveBit; }
  static int node(const verbs::Wc& wc) { return int((wc.wr_id & ~kReceiveBit) >> 32); }
  void sent(const verbs::Wc& wc, Events& events);
  void received(const verbs::Wc& wc, Events& events);

 private:
  static constexpr uint64_t kReceiveBit = 1ull << 63;
  static constexpr uint32_t kAtOnce = 64;  // writes
  static constexpr uint8_t kNobody = 0xff;  // in the place of a Sending
  static_assert(kAtOnce <= kNobody);

  struct Sending {
    Write write{};         // id 0: free
    uint64_t sent = 0;     // bytes
    uint32_t imm = 0, flying = 0;
    bool to_note = false, posted = false;
  };

  void step(verbs::QpAttr& attr, int what);
  // False where the queue is full. Its real end is not where the device says: it may be full earlier.
  template <class What> bool post(uint32_t id, What&& what);
  bool post_note(uint32_t id, const Note& note);
  bool post_write(uint32_t id, uint64_t to, uint32_t imm, uint64_t from, uint32_t lkey, uint32_t bytes);
  bool post_slot(const Leaving::Piece& piece);
  bool start_piece(const Sending& s, uint32_t bytes);

  Note& note(const Sending* s) { return reinterpret_cast<Note*>(notes_.base())[s - sendings_]; }
  Note& give_back_note(uint32_t slot) { return reinterpret_cast<Note*>(notes_.base())[kAtOnce + slot]; }
  Note& receive_note(uint32_t i) { return reinterpret_cast<Note*>(notes_.base())[kAtOnce + kSlots + i]; }

  const Nic& nic_;
  Device& device_;
  const int node_;
  int rank_ = -1;
  const uint32_t limit_;
  uint32_t piece_;
  HostRegion notes_;  // to be sent, one a Sending, one a slot to be given back; then those to be received
  std::unique_ptr<Leaving> leaving_;    // none where both NICs reach the heaps
  std::unique_ptr<Arriving> arriving_;  // none where the own does
  std::deque<uint32_t> empty_;          // slots to be given back
  Sender sender_;
  Receiver receiver_;
  Owned<verbs::Ah> ah_;
  Owned<verbs::Qp> qp_;
  verbs::QpEx* ex_ = nullptr;
  const std::byte* const heap_;
  const uint32_t heap_key_;
  Target peer_{};
  Sending sendings_[kAtOnce];
  std::deque<uint32_t> waiting_;  // of them, not posted as a whole
  uint32_t flying_ = 0;           // posted, not completed
  std::vector<uint32_t> free_receives_;
};

}  // namespace mk::rt::net::srd
