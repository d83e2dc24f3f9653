// How fast the proxy is: commands a second through one FIFO, and how long after a command, when no other is on its way, the
// kernel sees that the proxy has taken it, that its word is with the peer, and that its bytes have been read. Two ranks of two
// nodes as threads on one device, over INTERNODE_BACKEND_SHM; rank 0 pushes. Compiled by nvcc for the GPU, by g++ for the CPU;
// Makefile: bench-proxy, bench-proxy-gpu. Prints JSON.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "mk/mk.h"

namespace {

using World = mk::World<2, 2>;
using Waiter = mk::Waiter<World>;

constexpr uint32_t kCount = 1000000, kTrips = 2000;
constexpr uint64_t kBytes[] = {0, 4096, 65536};  // of a command
constexpr int kSizes = sizeof kBytes / sizeof *kBytes;

struct Times {           // ns, sums
  uint64_t all;          // of kCount commands at once
  uint64_t taken[kSizes], there[kSizes], done[kSizes];  // of kTrips, each alone
};

struct Globals {
  World world;
  mk::Fifo* fifo;
  const uint64_t* inbox;  // of rank 1
  uint64_t from;          // offset in the heap
  Times* times;
};

struct NoShared {
  MK_DEVICE void init() {}
};

struct Push {
  MK_ROLE void run(const Globals& g, NoShared&, mk::Where) {
    Waiter waiter(g.world, mk::Role::kInterSend, 0, 1);
    mk::Outbox<Waiter> outbox(g.fifo, g.world.own(), 0, waiter);
    uint64_t start = mk::now_ns();
    uint32_t pushed = 0;
    while (pushed < kCount) outbox.push(0, 0, 0, 0, 1, uint64_t(++pushed) << 32, 1);
    waiter.at_least(&g.fifo->taken, pushed, {mk::Wanted::kFifo, 0});
    Times& to = *g.times;
    to = {mk::now_ns() - start, {}, {}, {}};
    for (int size = 0; size < kSizes; ++size)
      for (uint32_t i = 0; i < kTrips; ++i) {
        for (start = mk::now_ns(); mk::now_ns() - start < 100000;) mk::pause();  // the proxy has done with the one before
        start = mk::now_ns();
        ++pushed;
        outbox.push(g.from, g.from + kBytes[kSizes - 1], kBytes[size], 0, 1, uint64_t(pushed) << 32, 1);
        waiter.at_least(&g.fifo->taken, pushed, {mk::Wanted::kFifo, 0});
        to.taken[size] += mk::now_ns() - start;
        waiter.at_least(g.inbox, uint64_t(pushed) << 32, {mk::Wanted::kFifo, 0});
        to.there[size] += mk::now_ns() - start;
        waiter.at_least(&g.fifo->done, pushed, {mk::Wanted::kFifo, 0});
        to.done[size] += mk::now_ns() - start;
      }
    outbox.end(0);
  }
};

using Grid = mk::Grid<32, 64, mk::Ctas<NoShared, 1, mk::Lanes<0, 0, mk::Lane<Push>>>>;
MK_KERNEL(push_commands, Grid, Globals)

void must(int status, const char* text) {
  if (status == MK_OK) return;
  std::fprintf(stderr, "%s\n", text);
  std::exit(1);
}

}  // namespace

int main() {
  mk_kernel_need need{"proxy", 1, 1 << 20, 2, MK_BACKEND_SHM, 1, 16};
  mk_world* world[2];
  char text[1024] = "";
  size_t length = 0;
  std::vector<char> blobs;
  for (int rank = 0; rank < 2; ++rank) {
    mk_options o{};
    o.size = sizeof o;
    o.rank = rank;
    o.world = 2;
    o.device_kind = mk::kDeviceKind;
    o.kernels = &need;
    o.kernel_count = 1;
    must(mk_open(&o, &world[rank], text, sizeof text), text);
    const void* blob;
    mk_blob(world[rank], &blob, &length);
    blobs.insert(blobs.end(), static_cast<const char*>(blob), static_cast<const char*>(blob) + length);
  }
  std::thread other([&] { must(mk_connect(world[1], blobs.data(), length, text, sizeof text), text); });
  char own[1024] = "";
  must(mk_connect(world[0], blobs.data(), length, own, sizeof own), own);
  other.join();

  const mk::Error error{own, sizeof own};
  mk_view view, peer;
  must(mk_view_of(world[0], 0, &view, own, sizeof own), own);
  must(mk_view_of(world[1], 0, &peer, own, sizeof own), own);
  void *times, *stream;
  must(mk_alloc(world[0], sizeof(Times), &times, own, sizeof own), own);
  must(mk_stream_new(world[0], &stream, own, sizeof own), own);
  const uint64_t behind = (sizeof(mk::Control) + 4095) / 4096 * 4096;
  const Globals g{mk::world_of<World>(view), static_cast<mk::Fifo*>(view.fifo[0]), peer.inbox, view.region + behind, static_cast<Times*>(times)};
  Times took;
  {
    const mk::OnDevice on(view.device);
    must(mk::prepare<Grid>(push_commands, view.device, error), own);
    must(mk::launch<Grid>(push_commands, view.device, g, stream, error), own);
  }
  must(mk_stream_sync(world[0], stream, own, sizeof own), own);
  must(mk_check(world[0], own, sizeof own), own);
  must(mk_copy(world[0], &took, times, sizeof took, own, sizeof own), own);
  std::printf("{\"target\": \"%s\", \"commands_per_s\": %.0f", mk::kTarget, 1e9 * kCount / double(took.all));
  const auto us = [](uint64_t ns) { return 1e-3 * double(ns) / kTrips; };
  for (int i = 0; i < kSizes; ++i)
    std::printf(", \"%llu_bytes\": {\"taken_us\": %.2f, \"there_us\": %.2f, \"done_us\": %.2f}", static_cast<unsigned long long>(kBytes[i]),
                us(took.taken[i]), us(took.there[i]), us(took.done[i]));
  std::puts("}");
  for (mk_world* w : world) mk_close(w);
}
