// What the proxy takes of a kernel, and what it refuses.
#include "net/proxy.h"

#include "check.h"

using namespace mk::rt::net;

namespace {

constexpr uint64_t kHeap = 1 << 20;
constexpr uint32_t kWords = 8;

// Does nothing with a write but to count it and to say that it is done.
struct Sink final : Backend {
  std::vector<Write>& posted;
  uint64_t told = 0;
  explicit Sink(std::vector<Write>& posted) : posted(posted) {}
  Card card() const override { return {}; }
  void connect(const std::vector<Peer>&) override {}
  bool post(const Write& write) override {
    posted.push_back(write);
    return true;
  }
  void poll(Events& events) override {
    for (; told < posted.size(); ++told) events.done(posted[told].id);
  }
};

struct Outcome {
  std::string why;  // the proxy gave up
  std::vector<Write> posted;
};

// What becomes of one command.
Outcome outcome(const mk::Command& command) {
  Outcome o;
  mk::Fifo fifo{};
  fifo.command[0] = command;
  fifo.command[0].ticket = 1;
  uint32_t health = 0;
  Proxy::World world{};
  world.health = &health;
  world.failed = [&](const std::string& why) { o.why = why; };
  world.ended = [] {};
  world.heap_bytes = kHeap;
  world.nodes = 2;
  world.timeout_ms = test::kAmple;
  world.patient = true;
  Proxy proxy(std::make_unique<Sink>(o.posted), {{&fifo, 0, kWords}}, std::move(world));
  proxy.start();
  proxy.drain();
  return o;
}

mk::Command command(uint64_t from, uint64_t to, uint64_t bytes, uint32_t slot = 0, uint32_t words = 1, uint32_t node = 1) {
  return {from, to, bytes, 1ull << 32, slot, words, node, 0};
}

}  // namespace

CASE(proxy_takes_what_fits) {
  for (const mk::Command& c : {command(0, 0, kHeap), command(kHeap - 8, 0, 8), command(0, kHeap - 8, 8), command(kHeap, kHeap, 0, kWords - 1),
                               command(0, 0, 0, 0, kWords)}) {
    const Outcome o = outcome(c);
    CHECK(o.why.empty() && o.posted.size() == 1 && o.posted[0].bytes == c.bytes);
  }
}

CASE(proxy_refuses_what_does_not) {
  constexpr uint64_t kTop = ~uint64_t(0);
  for (const mk::Command& c : {command(kHeap - 7, 0, 8), command(0, kHeap - 7, 8), command(0, 0, kHeap + 1),
                               // sums that come round to a place in the heap
                               command(kTop - 7, 0, 16), command(0, kTop - 7, 16), command(16, 16, kTop - 7), command(kTop, kTop, kTop),
                               command(kTop, 0, 0), command(0, 0, 8, 0, 0), command(0, 0, 8, kWords, 1), command(0, 0, 8, ~0u, 2),
                               command(0, 0, 8, 1, ~0u)}) {
    const Outcome o = outcome(c);
    CHECK_SAYS(o.why, "a kernel pushed a command outside the heap");
    CHECK(o.posted.empty());
  }
  for (uint32_t node : {0u, 2u, ~0u}) {
    const Outcome o = outcome(command(0, 0, 8, 0, 1, node));
    CHECK_SAYS(o.why, "a kernel on node 0 pushed a command for node");
    CHECK(o.posted.empty());
  }
}
