// Pieces of writes over SRD where a NIC does not reach a heap: they pass through numbered slots of pinned host memory.
//
// The sender copies a piece into a slot of its own. Into a heap that is reached it goes from there as any other piece. Else it
// goes, behind a head, into the slot of the same number at the receiver, and that number is its immediate. The receiver copies
// it into the heap, does then what the immediate in the head says, and gives the slot back: a note of no words.
#pragma once
#include <deque>
#include <memory>
#include <variant>

#include "region.h"
#include "srd.h"

namespace mk::rt::net::srd {

constexpr uint32_t kSlots = 16;  // each way between two ranks
constexpr uint32_t kSlot = 256 << 10;
constexpr uint64_t kAllSlots = uint64_t(kSlots) * kSlot;

struct alignas(64) Head {
  uint64_t to;  // in the heap
  uint32_t bytes, imm;
};
constexpr uint32_t kPayload = kSlot - sizeof(Head);

// What goes to one peer.
class Leaving {
 public:
  struct Piece {
    Head head;
    uint32_t write;  // that it belongs to, as the caller counts
    uint32_t slot = 0;
    uint64_t copy = 0;
  };
  // credits: the peer gives slots back
  Leaving(const Nic& nic, Device& device, bool credits);

  bool fill(const Piece& piece, const std::byte* from);  // false where no slot is free
  const Piece* next();                                   // in a slot by now and to be sent; null where there is none
  void posted() { filling_.pop_front(); }
  void sent(uint32_t slot) { let_go(slot, kSending); }
  void given_back(uint32_t slot);                        // throws where the peer does not have it

  uint64_t head(uint32_t slot) const { return slots_.address(slots_.base() + uint64_t(slot) * kSlot); }
  uint64_t payload(uint32_t slot) const { return head(slot) + sizeof(Head); }
  uint32_t lkey() const { return slots_.lkey(); }

 private:
  enum : uint8_t { kSending = 1, kLent = 2 };  // what holds a slot
  void let_go(uint32_t slot, uint8_t what);

  HostRegion slots_;
  std::unique_ptr<Copies> copies_;
  const uint8_t held_by_;
  uint8_t held_[kSlots] = {};
  std::vector<uint32_t> free_;
  std::deque<Piece> filling_;
};

// What comes from one peer: everything in the order in which it was announced, so that words keep theirs.
class Arriving {
 public:
  // slots: kAllSlots bytes that the peer writes
  Arriving(const std::byte* slots, Device& device, const Memory& heap) : slots_(slots), heap_(heap), copies_(device.copies()) {}

  void filled(uint32_t slot);
  void note(const Note& note) { coming_.push_back({copies_->started(), note}); }
  // Announces what has been copied; the slots that are then empty are to be given back.
  void advance(Receiver& receiver, Events& events, std::deque<uint32_t>& empty);

 private:
  struct Coming {
    uint64_t copy;
    std::variant<uint32_t, Note> what;  // a slot, or a note
  };
  const Head& head(uint32_t slot) const { return *reinterpret_cast<const Head*>(slots_ + uint64_t(slot) * kSlot); }

  const std::byte* slots_;
  const Memory& heap_;
  std::unique_ptr<Copies> copies_;
  std::deque<Coming> coming_;
};

}  // namespace mk::rt::net::srd
