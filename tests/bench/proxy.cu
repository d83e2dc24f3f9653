// How fast the proxy is: commands a second through one FIFO, and the round trip of one command, kernel to proxy to kernel.
// Two ranks of two nodes as threads, over INTERNODE_BACKEND_SHM; rank 0 pushes. Compiled by nvcc for the GPU, by g++ for the
// CPU; Makefile: bench-proxy. Prints JSON.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "mk/mk.h"

namespace {

using World = mk::World<2, 2>;
using Waiter = mk::Waiter<World>;

struct Globals {
  World world;
  mk::Fifo* fifo;
  uint64_t* ns;  // [0]: of count commands at once; [1]: of the round trips of some, each alone
  uint32_t count, trips;
};

struct NoShared {
  MK_DEVICE void init() {}
};

struct Push {
  MK_ROLE void run(const Globals& g, NoShared&, mk::Where) {
    Waiter waiter(g.world, mk::Role::kInterSend, 0, 1);
    mk::Outbox<Waiter> outbox(g.fifo, g.world.own(), 0, waiter);
    uint64_t start = mk::now_ns();
    for (uint32_t i = 0; i < g.count; ++i) outbox.push(0, 0, 0, 0, 1, uint64_t(i) << 32, 1);
    outbox.end(0);
    waiter.at_least(&g.fifo->taken, g.count, {mk::Wanted::kFifo, 0});
    g.ns[0] = mk::now_ns() - start;
    g.ns[1] = 0;
    for (uint32_t i = 0; i < g.trips; ++i) {
      for (start = mk::now_ns(); mk::now_ns() - start < 50000;) mk::pause();  // the proxy has done with the one before
      start = mk::now_ns();
      outbox.push(0, 0, 0, 0, 1, uint64_t(g.count + i) << 32, 1);
      waiter.at_least(&g.fifo->taken, g.count + i + 1, {mk::Wanted::kFifo, 0});
      g.ns[1] += mk::now_ns() - start;
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
  mk_kernel_need need{"proxy", 1, 4096, 2, MK_BACKEND_SHM, 1, 16};
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
  mk_view view;
  must(mk_view_of(world[0], 0, &view, own, sizeof own), own);
  Globals g{mk::world_of<World>(view), static_cast<mk::Fifo*>(view.fifo[0]), nullptr, 1000000, 2000};
  void *ns, *stream;
  must(mk_alloc(world[0], 2 * sizeof(uint64_t), &ns, own, sizeof own), own);
  must(mk_stream_new(world[0], &stream, own, sizeof own), own);
  g.ns = static_cast<uint64_t*>(ns);
  uint64_t took[2];
  {
    const mk::OnDevice on(view.device);
    must(mk::prepare<Grid>(push_commands, view.device, error), own);
    must(mk::launch<Grid>(push_commands, view.device, g, stream, error), own);
  }
  must(mk_stream_sync(world[0], stream, own, sizeof own), own);
  must(mk_check(world[0], own, sizeof own), own);
  must(mk_copy(world[0], took, ns, sizeof took, own, sizeof own), own);
  std::printf("{\"target\": \"%s\", \"commands_per_s\": %.0f, \"round_trip_us\": %.2f}\n", mk::kTarget, 1e9 * g.count / double(took[0]),
              1e-3 * double(took[1]) / g.trips);
  for (mk_world* w : world) mk_close(w);
}
