// Several nodes on one machine: the peers' heaps are mapped here, and copied into. On GPUs the copy engine does it, in the
// order of one stream, so that a word follows its bytes.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <random>

#include "../fail.h"
#include "backend.h"
#include "link.h"
#include "log.h"

namespace mk::rt::net {
namespace {

using Clock = std::chrono::steady_clock;
using Nanoseconds = std::chrono::duration<double, std::nano>;

class Shm final : public Backend {
 public:
  explicit Shm(const Site& site) : site_(site), link_(parse_link(std::getenv("MKGEN_SHM"))), copies_(site.device->copies()) {
    if (site_.lane == 0) log(site_.rank, "INTERNODE_BACKEND_SHM, " + link_.text());
  }

  Card card() const override { return {}; }

  void connect(const std::vector<Peer>& peers) override {
    heaps_.resize(size_t(site_.nodes));
    for (const Peer& p : peers) heaps_[size_t(p.node)] = p.heap;
  }

  bool post(const Write& write) override {
    if (pending_.size() >= kQueue) return false;
    if (link_.fail && ++posted_ > link_.fail)
      fail(MK_ESYSTEM, say("the link to node %d failed, as MKGEN_SHM asks, after %ld writes", write.node, long(link_.fail)));
    const Clock::time_point begin = std::max(Clock::now(), free_);
    free_ = begin + std::chrono::duration_cast<Clock::duration>(Nanoseconds(link_.rate > 0 ? double(write.bytes) / link_.rate : 0));
    pending_.push_back({write, begin, free_ + std::chrono::duration_cast<Clock::duration>(Nanoseconds(link_.delay * 1e3))});
    return true;
  }

  void poll(Events& events) override {
    if (pending_.empty() && reading_.empty()) return;
    const Clock::time_point now = Clock::now();
    if (link_.reorder > 1 && pending_.size() > 1) shuffle();
    for (Pending& p : pending_) {
      if (p.begin > now) break;
      if (!p.started) start(p);
    }
    while (!pending_.empty() && pending_.front().started && pending_.front().announced <= now) {
      announce(pending_.front().write);
      reading_.push_back({pending_.front().write.id, copies_->started()});
      pending_.pop_front();
    }
    finish(events);
  }

 private:
  static constexpr size_t kQueue = 64;
  struct Pending {
    Write write;
    Clock::time_point begin, announced;  // when its first byte leaves, when its word may be seen
    bool started = false;
  };
  struct Reading { uint64_t id, copy; };        // with the number of the copy that announces it

  void start(Pending& p) {
    p.started = true;
    if (p.write.bytes == 0) return;
    std::byte* to = heaps_[size_t(p.write.node)]->base() + p.write.to;
    copies_->ahead(to, site_.heap->base() + p.write.from, p.write.bytes);
  }

  void announce(const Write& w) {
    auto* inbox = reinterpret_cast<uint64_t*>(heaps_[size_t(w.node)]->base() + site_.inbox_offset);
    copies_->words(inbox + w.slot, w.words, w.value);
  }

  // Lets any of the first few that have not begun go first, but none before another of the same words.
  void shuffle() {
    const size_t window = std::min(pending_.size(), size_t(link_.reorder));
    const size_t pick = random_() % window;
    for (size_t i = 0; i < pick; ++i)
      if (pending_[i].write.slot == pending_[pick].write.slot && pending_[i].write.node == pending_[pick].write.node) return;
    if (pending_[pick].announced > Clock::now()) return;
    std::rotate(pending_.begin(), pending_.begin() + ptrdiff_t(pick), pending_.begin() + ptrdiff_t(pick) + 1);
  }

  void finish(Events& events) {
    const uint64_t finished = copies_->finished();
    while (!reading_.empty() && reading_.front().copy <= finished) {
      events.done(reading_.front().id);
      if (int(random_() % 1000) < link_.duplicate) events.done(reading_.front().id);
      reading_.pop_front();
    }
  }

  const Site site_;
  const Link link_;
  std::unique_ptr<Copies> copies_;
  std::vector<std::shared_ptr<Memory>> heaps_;  // by node
  std::deque<Pending> pending_;
  std::deque<Reading> reading_;                 // announced, and not known to be complete
  Clock::time_point free_{};                    // when the link has sent what was posted
  int64_t posted_ = 0;
  std::minstd_rand random_{std::random_device{}()};
};

}  // namespace

std::unique_ptr<Backend> shm_backend(const Site& site) { return std::make_unique<Shm>(site); }

}  // namespace mk::rt::net
