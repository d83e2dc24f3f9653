#include <algorithm>
#include <atomic>
#include <deque>

#include "../fail.h"
#include "rc_carrier.h"

namespace mk::rt::net {
namespace {

// Of one slot: where its bytes go in the heap, and the words that the receiving CPU sets when they are there.
struct alignas(64) Head {
  uint64_t to, value;
  uint32_t bytes, slot, words;
};
constexpr uint32_t kPayload = kRingSlot - sizeof(Head);

class Bounce final : public Carrier {
 public:
  Bounce(Connection& connection, const Source& source, const Target& target, Desk& desk, const HostRegion& rings)
      : rc_(connection), source_(source), target_(target), desk_(desk), lkey_(rings.lkey()), arriving_(rings.base()),
        leaving_(arriving_ + kRings / 2), out_(source.site.device->copies()), in_(source.site.device->copies()) {}

  bool post(const Write& write) override {
    if (waiting_.size() >= kWaiting) return false;
    waiting_.push_back(write);
    fill();
    return true;
  }

  void poll(Events& events) override {
    take();
    fill();
    for (; !filling_.empty() && out_->finished() >= filling_.front().copy; filling_.pop_front()) {
      if (filling_.front().last_of) events.done(filling_.front().last_of);
      ++copied_;
    }
    send();
  }

  bool settled() const override { return sent_ == filled_ && rc_.put() == rc_.completed(); }

 private:
  static constexpr size_t kWaiting = 64;
  struct Filling {
    uint64_t copy, last_of;  // the copy that fills it; the write that it ends, or 0
  };

  static Head& head(std::byte* ring, uint64_t n) { return *reinterpret_cast<Head*>(ring + n % kRing * kRingSlot); }
  static std::byte* payload(std::byte* ring, uint64_t n) { return ring + n % kRing * kRingSlot + sizeof(Head); }
  static uint64_t load(uint64_t& word) { return std::atomic_ref(word).load(std::memory_order_acquire); }

  // From the heap into slots that the peer has emptied.
  void fill() {
    while (!waiting_.empty() && filled_ - load(desk_.emptied) < kRing) {
      Write& w = waiting_.front();
      const uint32_t n = uint32_t(std::min<uint64_t>(w.bytes, kPayload));
      const bool last = n == w.bytes;
      head(leaving_, filled_) = {w.to, w.value, n, w.slot, last ? w.words : 0};
      out_->start(payload(leaving_, filled_), source_.site.heap->base() + w.from, n);
      filling_.push_back({out_->started(), last ? w.id : 0});
      ++filled_;
      w.from += n, w.to += n, w.bytes -= n;
      if (last) waiting_.pop_front();
    }
  }

  // Slots to the peer, each with the count that announces it; and how many of the peer's were emptied here.
  void send() {
    while (sent_ < copied_ && rc_.room() >= 2) {
      const Head& h = head(leaving_, sent_);
      const uint64_t at = uint64_t(reinterpret_cast<const std::byte*>(&h) - leaving_);
      rc_.bytes(reinterpret_cast<uint64_t>(&h), lkey_, desk_.ring + at, uint32_t(desk_.ring_key), uint32_t(sizeof h) + h.bytes, false);
      rc_.words(++sent_, 1, target_.desk + offsetof(Desk, filled), target_.desk_key, true);
    }
    if (told_ != emptied_ && rc_.room()) {
      told_ = emptied_;
      rc_.words(told_, 1, target_.desk + offsetof(Desk, emptied), target_.desk_key, true);
    }
    rc_.flush();
  }

  // From slots that the peer has filled into the heap, and behind that the words. The peer's come in order, so the last is the
  // largest.
  void take() {
    const uint64_t room = source_.site.heap->bytes();
    auto* inbox = reinterpret_cast<uint64_t*>(source_.site.heap->base() + source_.site.inbox_offset);
    for (const uint64_t there = load(desk_.filled); taken_ < there; ++taken_) {
      const Head& h = head(arriving_, taken_);
      if (h.bytes > kPayload || h.to > room || room - h.to < h.bytes || h.slot > source_.site.inbox_words ||
          source_.site.inbox_words - h.slot < h.words)
        fail(MK_EABORTED, say("a peer sent %u bytes for offset %lu and %u words for slot %u: out of bounds", h.bytes, h.to,
                              h.words, h.slot));
      std::byte* to = source_.site.heap->base() + h.to;
      if (!h.words) in_->start(to, payload(arriving_, taken_), h.bytes);
      else in_->ahead(to, payload(arriving_, taken_), h.bytes), in_->words(inbox + h.slot, h.words, h.value);
      emptying_.push_back(in_->started());
    }
    for (; !emptying_.empty() && in_->finished() >= emptying_.front(); emptying_.pop_front()) ++emptied_;
  }

  Connection& rc_;
  const Source source_;
  const Target target_;
  Desk& desk_;
  const uint32_t lkey_;
  std::byte *const arriving_, *const leaving_;
  std::unique_ptr<Copies> out_, in_;
  std::deque<Write> waiting_;
  std::deque<Filling> filling_;
  std::deque<uint64_t> emptying_;  // the copy after which a slot is empty
  uint64_t filled_ = 0, copied_ = 0, sent_ = 0;   // slots towards the peer
  uint64_t taken_ = 0, emptied_ = 0, told_ = 0;   // slots from it
};

}  // namespace

std::unique_ptr<Carrier> bounce_carrier(Connection& connection, const Source& source, const Target& target, Desk& desk,
                                        const HostRegion& rings) {
  return std::make_unique<Bounce>(connection, source, target, desk, rings);
}

}  // namespace mk::rt::net
