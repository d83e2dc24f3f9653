// Worlds of two nodes: what the heap and the view hold, writes through a FIFO, and nothing left behind.
#include <signal.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "mk/net.h"
#include "rank.h"
#include "ranks.h"

using namespace test;

namespace {

mk_kernel_need across(mk_backend backend) {
  mk_kernel_need n = need("across");
  n.nodes = 2;
  n.backend = backend;
  n.lanes = 2;
  n.inbox_words = 8;
  return n;
}

long descriptors() {
  auto all = std::filesystem::directory_iterator("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

struct Pair {
  Rank rank[2];
  explicit Pair(mk_backend backend, uint64_t timeout_ms = test::kAmple) {
    std::vector<mk::rt::Blob> blobs;
    for (int r = 0; r < 2; ++r) {
      CHECK(rank[r].open(r, 2, {across(backend)}, timeout_ms) == MK_OK);
      blobs.push_back(rank[r].blob());
    }
    std::thread other([&] { rank[1].connect(blobs); });
    rank[0].connect(blobs);
    other.join();
    CHECK(rank[0].status == MK_OK && rank[1].status == MK_OK);
  }
  ~Pair() {  // each waits for the other
    std::thread other([&] { rank[1].close(); });
    rank[0].close();
    other.join();
  }
};

// Pushes the next command of lane 0 and waits until its bytes have been read, or the world has ended.
void push(Rank& rank, uint32_t ticket) {
  const mk_view v = rank.view();
  auto& fifo = *static_cast<mk::Fifo*>(v.fifo[0]);
  mk::Command& c = fifo.command[(ticket - 1) % mk::kFifoSlots];
  c.from = c.to = v.region + 8192;
  c.bytes = 64;
  c.value = uint64_t(ticket) << 32;
  c.slot = 0;
  c.words = 1;
  c.node = uint32_t(1 - v.rank);
  std::atomic_ref(c.ticket).store(ticket, std::memory_order_release);
  while (std::atomic_ref(fifo.done).load(std::memory_order_acquire) != ticket && rank.check() == MK_OK) std::this_thread::yield();
}

// Rank 0 writes 1000 bytes into rank 1's heap through each lane, and waits until the words say so.
void exchange(Pair& pair) {
  const mk_view from = pair.rank[0].view(), to = pair.rank[1].view();
  CHECK(from.nodes == 2 && from.lanes == 2 && from.heap[0] && !from.heap[1] && !to.heap[0] && to.heap[1]);
  for (int lane = 0; lane < 2; ++lane) {
    auto& fifo = *static_cast<mk::Fifo*>(from.fifo[lane]);
    auto* source = static_cast<char*>(from.heap[0]) + 4096 * (lane + 1);
    std::memset(source, 'a' + lane, 1000);
    mk::Command& c = fifo.command[0];
    c.from = from.region + uint64_t(4096 * (lane + 1));
    c.to = from.region + uint64_t(16384 * (lane + 1));
    c.bytes = 1000;
    c.value = uint64_t(7) << 32;
    c.slot = uint32_t(3 + lane);
    c.words = 1;
    c.node = 1;
    std::atomic_ref(c.ticket).store(1, std::memory_order_release);
    while (std::atomic_ref(to.inbox[3 + lane]).load(std::memory_order_acquire) >> 32 != 7) std::this_thread::yield();
    const auto* target = static_cast<const char*>(to.heap[1]) + 16384 * (lane + 1);
    CHECK(target[0] == 'a' + lane && target[999] == 'a' + lane && target[1000] == 0);
    while (std::atomic_ref(fifo.done).load(std::memory_order_acquire) != 1) std::this_thread::yield();
  }
}

}  // namespace

CASE(nodes_exchange_over_shm) {
  Pair pair(MK_BACKEND_SHM);
  exchange(pair);
}

CASE(nodes_exchange_over_tcp) {
  Pair pair(MK_BACKEND_TCP);
  exchange(pair);
}

CASE(nodes_leave_nothing_behind) {
  Pair{MK_BACKEND_SHM};  // once, for what the libraries keep
  const long before = descriptors();
  for (int i = 0; i < 20; ++i) Pair{i % 2 ? MK_BACKEND_SHM : MK_BACKEND_TCP};
  CHECK(descriptors() == before);
}

// Who closes stays for the peers, whose last writes find it there.
CASE(nodes_close_together) {
  for (mk_backend backend : {MK_BACKEND_SHM, MK_BACKEND_TCP}) {
    Pair pair(backend, 3600'000);
    std::atomic<bool> closed{false};
    std::thread first([&] {
      pair.rank[0].close();
      closed = true;
    });
    for (uint32_t ticket = 1; ticket <= 1000; ++ticket) push(pair.rank[1], ticket);
    CHECK(pair.rank[1].check() == MK_OK && !closed);
    pair.rank[1].close();
    first.join();
  }
}

// But not for ever; and what is then written to it goes nowhere, which is no failure.
CASE(nodes_close_before_a_peer_does) {
  for (mk_backend backend : {MK_BACKEND_SHM, MK_BACKEND_TCP}) {
    Pair pair(backend, 200);
    pair.rank[0].close();
    for (uint32_t ticket = 1; ticket <= 100; ++ticket) push(pair.rank[1], ticket);
    CHECK(pair.rank[1].check() == MK_OK);
  }
}

CASE(nodes_close_at_once_after_an_abort) {
  Pair pair(MK_BACKEND_TCP, 3600'000);
  CHECK(mk_abort(pair.rank[0].world, "enough") == MK_OK);
  pair.rank[0].close();
  while (pair.rank[1].check() == MK_OK) std::this_thread::yield();
  CHECK_SAYS(pair.rank[1].err, "rank 0");  // called mk_abort, or ended its connection, whichever is seen first
  pair.rank[1].close();
}

CASE(nodes_close_without_a_dead_peer) {
  const mk::run::Meeting& end = mk::run::start(2, true, [](mk::run::Meeting& meeting, int rank) {
    Rank r;
    auto* blobs = reinterpret_cast<mk::rt::Blob*>(meeting.blobs);
    CHECK(r.open(rank, 2, {across(MK_BACKEND_TCP)}, 3600'000) == MK_OK);
    blobs[rank] = r.blob();
    CHECK(meeting.meet());
    CHECK(r.connect({blobs[0], blobs[1]}) == MK_OK);
    CHECK(meeting.meet());
    if (rank == 1) ::raise(SIGKILL);
    r.close();
    throw std::runtime_error("rank 0 is through");
  });
  CHECK_SAYS(end.outcome[0].error, "rank 0 is through");
}

CASE(nodes_refuse_commands_outside_the_heap) {
  Pair pair(MK_BACKEND_SHM);
  const mk_view v = pair.rank[0].view();
  auto& fifo = *static_cast<mk::Fifo*>(v.fifo[0]);
  fifo.command[0].to = uint64_t(1) << 40;
  fifo.command[0].bytes = 8;
  fifo.command[0].words = fifo.command[0].node = 1;
  std::atomic_ref(fifo.command[0].ticket).store(1, std::memory_order_release);
  for (Rank& r : pair.rank) {
    while (r.check() == MK_OK) std::this_thread::yield();
    CHECK(r.status == MK_EABORTED);
    CHECK_SAYS(r.err, "rank 0: role proxy: a kernel pushed a command outside the heap");
  }
}
