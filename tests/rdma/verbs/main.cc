// The IBVERBS backend alone, ranks as processes, on one machine or several (SOFTRDMA_*):
//   ibverbs CASE NODES PER_NODE [near|far|mixed] [SEED]
// A rank exchanges with the ranks of its index on the other nodes; far: the NIC does not reach its heap; mixed: so on every
// second node. Exit 0 where every rank saw what the case says.
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "far.h"
#include "meet.h"
#include "traffic.h"

namespace {

using namespace mk::rt;
using test::Meet;
using Clock = std::chrono::steady_clock;
constexpr int kPort = 18600;
constexpr auto kLong = std::chrono::minutes(10);  // for what takes a moment

struct Rank {
  std::string name;  // of the case
  int rank, nodes, per_node;
  bool far;
  uint64_t seed;
  // Virtual machines on busy processors may fall silent for seconds; the first three cases wait until it has passed.
  uint64_t timeout_ms() const { return name == "killed" || name == "absent" || name == "closes" ? 15000 : 3600000; }
  int world() const { return nodes * per_node; }
};

// One lane of a rank, with the card of each of its peers.
struct Lane {
  net::Left left;
  net::Site site;
  std::unique_ptr<net::Backend> backend;
  std::vector<net::Peer> peers;

  Lane(const Rank& r, int lane, Device& device, Memory& heap, uint64_t inbox_offset, uint32_t words, Meet& meet)
      : site{r.rank, r.rank / r.per_node, r.nodes, r.rank % r.per_node, lane, &device, &heap, inbox_offset, words, r.timeout_ms(), &left},
        backend(net::ibverbs_backend(site)) {
    std::vector<net::Card> cards = meet.gather(backend->card());
    for (int p = r.rank % r.per_node; p < r.world(); p += r.per_node)
      if (p != r.rank) peers.push_back({p, p / r.per_node, cards[size_t(p)], nullptr});
  }

  // `ranks` of them, one after the other: what one of them sent already would find nobody, and be sent again after minutes.
  void connect(Meet& meet, int ranks) {
    for (int turn = 0; turn < ranks; ++turn) {
      if (turn == site.rank) backend->connect(peers);
      meet.barrier();
    }
    if (site.rank < ranks) backend->greet(peers);
  }
};

struct Heap {
  std::unique_ptr<Device> device;
  std::shared_ptr<Memory> memory;
  std::byte* bytes;  // as the CPU reads it
  Heap(bool far, uint64_t size) : device(far ? std::make_unique<test::FarDevice>() : host_device()), memory(device->create(size)) {
    bytes = far ? static_cast<test::FarMemory&>(*memory).near() : memory->base();
  }
};

// Backends of several worlds, one after the other.
void writes(const Rank& r, Meet& meet) {
  for (uint64_t again = 0; again < 2; ++again) {
    test::Shape shape;
    shape.seed = r.seed + again;
    const uint64_t data = (test::Traffic::heap_bytes(shape, r.nodes) + 255) / 256 * 256;
    const uint32_t words = test::Traffic::inbox_words(shape, r.nodes);
    Heap heap(r.far, data + words * 8);
    Lane lane(r, 0, *heap.device, *heap.memory, data, words, meet);
    test::Traffic traffic(shape, lane.site, heap.bytes, reinterpret_cast<uint64_t*>(heap.bytes + data), lane.peers);
    lane.connect(meet, r.world());
    const auto until = Clock::now() + kLong;
    while (!traffic.finished()) {
      traffic.step(*lane.backend);
      ::sched_yield();
      if (Clock::now() > until) fail(MK_EABORTED, say("rank %d is stuck:%s", r.rank, traffic.state().c_str()));
    }
    meet.barrier([&] { traffic.step(*lane.backend); });
  }
}

struct Count final : net::Events {
  uint64_t count = 0;
  void done(uint64_t) override { ++count; }
  void arrived(uint32_t, uint32_t, uint64_t) override {}
};

// Posts without polling until the queue is full; then every write is done and the last value is there.
void pressure(const Rank& r, Meet& meet) {
  Heap heap(r.far, 1 << 20);
  Lane lane(r, 0, *heap.device, *heap.memory, 1 << 19, uint32_t(r.nodes), meet);
  lane.connect(meet, r.world());
  Count count;
  uint64_t id = 0, refused = 0;
  for (uint64_t value = 1; value <= 3000; ++value)
    for (const net::Peer& p : lane.peers) {
      net::Write w{p.node, 0, 4096, value % 512, uint32_t(lane.site.node), 1, value << 32, ++id};
      while (!lane.backend->post(w)) {
        ++refused;
        lane.backend->poll(count);
      }
    }
  if (!refused) throw std::runtime_error("3000 writes without polling never found the queue full");
  const auto until = Clock::now() + kLong;
  auto* words = reinterpret_cast<uint64_t*>(heap.bytes + (1 << 19));
  for (;;) {
    lane.backend->poll(count);
    bool all = count.count == id;
    for (const net::Peer& p : lane.peers)
      all = all && std::atomic_ref(words[p.node]).load(std::memory_order_acquire) == 3000ull << 32;
    if (all) break;
    if (Clock::now() > until) throw std::runtime_error(say("rank %d: %lu of %lu writes done", r.rank, count.count, id));
  }
  meet.barrier([&] { lane.backend->poll(count); });
}

// Rank 0 ends when what it wrote is done and settled: then all of it has come, or will without rank 0. What rank 1 still
// writes is for nobody, and no failure.
void closes(const Rank& r, Meet& meet) {
  constexpr uint64_t kWrites = 40, kBytes = 300000;
  Heap heap(r.far, 1 << 20);
  Lane lane(r, 0, *heap.device, *heap.memory, 1 << 19, 8, meet);
  lane.connect(meet, r.world());
  Count count;
  const auto write = [&](uint64_t id) {
    const net::Write w{1 - r.rank, 0, 0, kBytes, 0, 1, id << 32, id};
    while (!lane.backend->post(w)) lane.backend->poll(count);
  };
  const auto finish = [&](uint64_t writes) {
    while (count.count < writes) lane.backend->poll(count);
    if (r.far && lane.backend->settled()) throw std::runtime_error("settled the moment the last bytes were read from the heap");
    while (!lane.backend->settled()) lane.backend->poll(count);
  };
  if (r.rank == 0) {
    for (uint64_t id = 1; id <= kWrites; ++id) write(id);
    finish(kWrites);
    lane.backend.reset();
    return meet.barrier();
  }
  meet.barrier([&] { lane.backend->poll(count); });
  lane.left.add(0);
  const auto until = Clock::now() + kLong;
  std::atomic_ref word(*reinterpret_cast<uint64_t*>(heap.bytes + (1 << 19)));
  while (word.load(std::memory_order_acquire) != kWrites << 32) {
    lane.backend->poll(count);
    if (Clock::now() > until) throw std::runtime_error(say("%lu of %lu writes came", word.load() >> 32, kWrites));
  }
  for (uint64_t id = 1; id <= 4; ++id) write(id);
  finish(4);
}

// expect: runs body, which must throw a Fail that names this.
template <class Body> void expect(const Rank& r, const std::string& text, Body&& body) {
  try {
    body();
  } catch (const Fail& f) {
    if (f.text.find(text) == std::string::npos) throw std::runtime_error(say("rank %d: \"%s\" does not say \"%s\"", r.rank, f.text.c_str(), text.c_str()));
    std::printf("rank %d: %s\n", r.rank, f.text.c_str());
    return;
  }
  throw std::runtime_error(say("rank %d: no error", r.rank));
}

// The last rank dies while writes are under way.
void killed(const Rank& r, Meet& meet) {
  Heap heap(r.far, 1 << 20);
  Lane lane(r, 0, *heap.device, *heap.memory, 1 << 19, 8, meet);
  lane.connect(meet, r.world());
  meet.barrier();
  if (r.rank == r.world() - 1) ::_exit(0);  // nothing of it is taken down in order
  Count count;
  const std::string victim = say("to rank %d over", r.world() - 1);
  if (lane.peers.back().rank != r.world() - 1) return;
  expect(r, victim, [&] {
    const auto until = Clock::now() + kLong;
    for (uint64_t id = 1; Clock::now() < until;) {
      net::Write w{lane.peers.back().node, 0, 4096, 5000, 0, 1, id << 32, id};
      id += lane.backend->post(w);
      lane.backend->poll(count);
    }
  });
}

// The last rank shows its card and never connects.
void absent(const Rank& r, Meet& meet) {
  Heap heap(r.far, 1 << 20);
  Lane lane(r, 0, *heap.device, *heap.memory, 1 << 19, 8, meet);
  const bool waits = lane.peers.back().rank == r.world() - 1;
  if (waits && r.rank != r.world() - 1)
    expect(r, say("rank %d", r.world() - 1), [&] { lane.connect(meet, r.world() - 1); });
  else
    lane.connect(meet, r.world() - 1);
  meet.barrier();
}

int run(const Rank& r, int listener, const std::string& first, const std::string& command) {
  try {
    Meet meet(r.rank, r.world(), listener, first, kPort, command);
    if (r.name == "writes") writes(r, meet);
    else if (r.name == "pressure") pressure(r, meet);
    else if (r.name == "killed") killed(r, meet);
    else if (r.name == "absent") absent(r, meet);
    else if (r.name == "closes") closes(r, meet);
    else return 64;
    return 0;
  } catch (const Fail& f) {
    std::fprintf(stderr, "rank %d: %s\n", r.rank, f.text.c_str());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "rank %d: %s\n", r.rank, e.what());
  }
  return 1;
}

int number(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text ? std::atoi(text) : otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 64;
  const std::string memory = argc > 4 ? argv[4] : "near";
  Rank r{argv[1], 0, std::atoi(argv[2]), std::atoi(argv[3]), false, argc > 5 ? std::strtoull(argv[5], nullptr, 10) : 1};
  std::string command;
  for (int i = 1; i < argc; ++i) command += argv[i] + std::string(" ");
  const int machine = number("SOFTRDMA_NODE", 0), machines = number("SOFTRDMA_NODES", 1);
  std::string first = std::getenv("SOFTRDMA_PEERS") ? std::getenv("SOFTRDMA_PEERS") : "127.0.0.1";
  first = first.substr(0, first.find(' '));
  const int listener = machine == 0 ? Meet::listen(kPort) : -1;
  const int here = r.world() / machines;
  std::vector<pid_t> ranks;
  for (int i = 0; i < here; ++i) {
    r.rank = machine * here + i;
    r.far = memory == "far" || (memory == "mixed" && r.rank / r.per_node % 2 == 1);
    const pid_t pid = ::fork();
    if (pid == 0) {
      const int rc = run(r, r.rank == 0 ? listener : -1, first, command);
      std::fflush(stdout);
      ::_exit(rc);
    }
    ranks.push_back(pid);
  }
  int rc = 0;
  for (int status; ::wait(&status) > 0;)
    if (status && !rc) {
      rc = 1;
      for (pid_t rank : ranks) ::kill(rank, SIGKILL);  // it would wait for the one that failed
    }
  if (rc == 0) std::printf("%s: ok\n", r.name.c_str());
  return rc;
}
