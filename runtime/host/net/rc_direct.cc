#include <algorithm>
#include <deque>

#include "rc_carrier.h"

namespace mk::rt::net {
namespace {

class Direct final : public Carrier {
 public:
  Direct(Connection& connection, const Source& source, const Target& target)
      : rc_(connection), source_(source), target_(target) {}

  bool post(const Write& write) override {
    if (waiting_.size() >= kWaiting) return false;
    waiting_.push_back(write);
    send();
    return true;
  }

  void poll(Events& events) override {
    for (; !flying_.empty() && flying_.front().last <= rc_.completed(); flying_.pop_front()) events.done(flying_.front().id);
    send();
  }

 private:
  static constexpr size_t kWaiting = 64;  // writes taken that the send queue has no room for yet
  struct Flying {
    uint64_t id, last;  // last: its last piece
  };

  // Cuts the writes in front into pieces, as far as the queue has room.
  void send() {
    while (!waiting_.empty() && rc_.room()) {
      Write& w = waiting_.front();
      if (w.bytes) {
        const uint32_t n = uint32_t(std::min<uint64_t>(w.bytes, rc_.piece()));
        rc_.bytes(source_.heap + w.from, source_.heap_key, target_.heap + w.to, target_.heap_key, n, false);
        w.from += n, w.to += n, w.bytes -= n;
      } else {
        const uint32_t n = std::min(w.words, kWordsAtOnce);
        rc_.words(w.value, n, target_.inbox + w.slot * sizeof w.value, target_.heap_key, n == w.words);
        w.slot += n, w.words -= n;
        if (w.words) continue;
        flying_.push_back({w.id, rc_.put()});
        waiting_.pop_front();
      }
    }
    rc_.flush();
  }

  Connection& rc_;
  const Source source_;
  const Target target_;
  std::deque<Write> waiting_;
  std::deque<Flying> flying_;
};

}  // namespace

std::unique_ptr<Carrier> direct_carrier(Connection& connection, const Source& source, const Target& target) {
  return std::make_unique<Direct>(connection, source, target);
}

}  // namespace mk::rt::net
