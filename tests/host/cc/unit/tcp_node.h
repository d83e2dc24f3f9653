// A rank that writes over INTERNODE_BACKEND_TCP, and writes at random that both sides can check. On the host or, with
// TEST_CUDA, over the fake driver.
#pragma once
#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "check.h"
#include "device.h"
#include "net/backend.h"

namespace test {

using namespace mk::rt;
using namespace mk::rt::net;

constexpr uint64_t kHeap = 32 << 20;
constexpr uint32_t kWords = 1000;

inline std::unique_ptr<Device> device([[maybe_unused]] int rank) {
#ifdef TEST_CUDA
  return cuda_device(rank);
#else
  return host_device();
#endif
}

// One rank: a heap and a backend, and what the backend reports.
struct Node final : Events {
  std::unique_ptr<Device> dev;
  std::shared_ptr<Memory> heap;
  std::unique_ptr<Backend> backend;
  std::set<uint64_t> read;
  std::map<uint32_t, uint64_t> words;
  std::function<void(uint64_t)> on_done = [](uint64_t) {};
  std::function<void(uint32_t, uint32_t, uint64_t)> on_arrived = [](uint32_t, uint32_t, uint64_t) {};

  Node(int rank, int nodes, uint64_t timeout_ms = test::kAmple)
      : dev(device(rank)), heap(dev->create(kHeap)) {
    Site site{};
    site.rank = site.node = rank;
    site.nodes = nodes;
    site.device = dev.get();
    site.heap = heap.get();
    site.inbox_words = kWords;
    site.timeout_ms = timeout_ms;
    backend = tcp_backend(site);
  }
  void done(uint64_t id) override {
    if (read.insert(id).second) on_done(id);
  }
  void arrived(uint32_t slot, uint32_t n, uint64_t value) override {
    CHECK(n > 0 && slot + n <= kWords);
    for (uint32_t i = 0; i < n; ++i) words[slot + i] = value;
    on_arrived(slot, n, value);
  }
  void poll() { backend->poll(*this); }
  void post(const Write& w) {
    while (!backend->post(w)) poll();
  }
  template <class Done> void poll_until(Done done) {
    while (!done()) poll();
  }
  void set(uint64_t at, const std::string& bytes) { dev->copy(heap->base() + at, bytes.data(), bytes.size()); }
  std::string get(uint64_t at, uint64_t n) {
    std::string bytes(n, ' ');
    dev->copy(bytes.data(), heap->base() + at, n);
    return bytes;
  }
};

inline std::string random_bytes(uint64_t seed, uint64_t n) {
  std::mt19937_64 random(seed);
  std::string s(n, ' ');
  for (uint64_t i = 0; i < n; i += 8) {
    const uint64_t word = random();
    std::memcpy(s.data() + i, &word, std::min<uint64_t>(8, n - i));
  }
  return s;
}

struct Plan {
  uint64_t from, to, bytes, seed;
  uint32_t slot, words;
};

// What one rank writes to one peer in a round: both know it. Areas are apart, and the sources of peers too.
inline std::vector<Plan> plan_of(int sender, int receiver, int nodes, uint64_t round) {
  std::mt19937_64 random(round * 100 + uint64_t(sender * 10 + receiver));
  const uint64_t sizes[] = {0, 0, 1, 7, 40, 4096, 65535, 262144, 262145, 700001, 2 << 20, (3 << 20) + 5};
  const uint64_t share = kHeap / 2 / uint64_t(nodes);
  uint64_t from = uint64_t(receiver) * share, to = kHeap / 2 + uint64_t(sender) * share;
  const uint64_t end = from + share, to_end = to + share;
  std::vector<Plan> all;
  for (uint32_t slot = uint32_t(sender) * (kWords / uint32_t(nodes));;) {
    Plan p{from, to, sizes[random() % 12], random(), slot, 1 + uint32_t(random() % 3)};
    if (p.bytes > 1 && random() % 2) p.bytes -= random() % p.bytes;
    if (p.from + p.bytes > end || p.to + p.bytes > to_end || all.size() == 60) return all;
    from += p.bytes + random() % 64;
    to += p.bytes + random() % 64;
    slot += p.words;
    all.push_back(p);
  }
}

// Every rank calls this; meet returns when all have called it as often.
inline void random_round(Node& n, int rank, int nodes, uint64_t round, const std::function<void()>& meet) {
  std::map<uint32_t, std::pair<Plan, int>> expected;  // by first slot
  std::vector<std::pair<Plan, int>> mine;
  for (int peer = 0; peer < nodes; ++peer) {
    if (peer == rank) continue;
    for (const Plan& p : plan_of(peer, rank, nodes, round)) expected[p.slot] = {p, peer};
    for (const Plan& p : plan_of(rank, peer, nodes, round)) mine.push_back({p, peer});
  }
  std::shuffle(mine.begin(), mine.end(), std::mt19937_64(round + uint64_t(rank)));
  n.read.clear();
  for (const auto& [p, peer] : mine) n.set(p.from, random_bytes(p.seed, p.bytes));
  n.on_done = [&](uint64_t id) {  // who is told so may write there
    const Plan& p = mine[id - 1].first;
    n.set(p.from, std::string(p.bytes, '?'));
  };
  size_t came = 0;
  n.on_arrived = [&](uint32_t slot, uint32_t words, uint64_t value) {  // the bytes are there already
    CHECK(expected.count(slot));
    const Plan p = expected[slot].first;
    CHECK(words == p.words && value == (round << 32 | slot));
    CHECK(n.get(p.to, p.bytes) == random_bytes(p.seed, p.bytes));
    expected.erase(slot);
    ++came;
  };
  const size_t all_come = expected.size();
  meet();
  for (size_t i = 0; i < mine.size(); ++i) {
    const auto& [p, peer] = mine[i];
    n.post({peer, p.from, p.to, p.bytes, p.slot, p.words, round << 32 | p.slot, i + 1});
  }
  n.poll_until([&] { return came == all_come && n.read.size() == mine.size(); });
  meet();
}

}  // namespace test
