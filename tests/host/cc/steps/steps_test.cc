// A network connects in steps: none of a world's ranks greets before all of them take writes, on all lanes, and none is
// connected before all have greeted. Linked before libmkrt, whose make_backend this one replaces.
#include <sched.h>

#include <atomic>
#include <thread>

#include "../unit/rank.h"
#include "fail.h"
#include "net/backend.h"

namespace {

constexpr int kRanks = 3, kLanes = 2;
std::atomic<int> connected, greeted;

// A rank that is late for each step.
class Late final : public mk::rt::net::Backend {
 public:
  explicit Late(int rank) : rank_(rank) {}
  mk::rt::net::Card card() const override { return {}; }
  void connect(const std::vector<mk::rt::net::Peer>&) override {
    dawdle(kRanks - 1);
    ++connected;
  }
  void greet(const std::vector<mk::rt::net::Peer>&) override {
    if (connected != kRanks * kLanes) mk::rt::fail(MK_ESYSTEM, "greeted too early");
    dawdle(0);
    ++greeted;
  }
  bool post(const mk::rt::net::Write&) override { return true; }
  void poll(mk::rt::net::Events&) override {}

 private:
  void dawdle(int late) const {
    for (int i = 0; rank_ == late && i < 1000; ++i) ::sched_yield();
  }
  int rank_;
};

mk_kernel_need apart() {
  mk_kernel_need n = test::need("apart");
  n.nodes = kRanks;
  n.backend = MK_BACKEND_TCP;
  n.lanes = kLanes;
  n.inbox_words = 8;
  return n;
}

// on(r) for each rank, each in a thread.
template <class On> void together(On&& on) {
  std::vector<std::thread> threads;
  for (int r = 0; r < kRanks; ++r) threads.emplace_back([&, r] { on(r); });
  for (std::thread& t : threads) t.join();
}

}  // namespace

namespace mk::rt::net {
std::unique_ptr<Backend> make_backend(int, const Site& site) { return std::make_unique<Late>(site.rank); }
}  // namespace mk::rt::net

CASE(steps_are_taken_together) {
  for (int again = 0; again < 25; ++again) {
    connected = greeted = 0;
    test::Rank ranks[kRanks];
    std::vector<mk::rt::Blob> blobs;
    for (int r = 0; r < kRanks; ++r) {
      CHECK(ranks[r].open(r, kRanks, {apart()}) == MK_OK);
      blobs.push_back(ranks[r].blob());
    }
    std::atomic<int> early = 0;
    together([&](int r) {
      ranks[r].connect(blobs);
      early += greeted != kRanks * kLanes;
    });
    together([&](int r) { ranks[r].close(); });  // each waits for the others
    for (test::Rank& r : ranks)
      if (r.status != MK_OK) throw std::runtime_error(r.err);
    CHECK(early == 0);
  }
}
