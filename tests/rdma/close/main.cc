// Worlds over IBVERBS, ranks as processes, that close one after the other: rank 0 at once, the others when they have written
// to it for a while. Exit 0 where no rank has anything to complain about.
//   close NODES
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "mk/net.h"
#include "rank.h"
#include "ranks.h"

namespace {

using test::Rank;

void push(const mk_view& v, uint32_t ticket) {
  mk::Command& c = static_cast<mk::Fifo*>(v.fifo[0])->command[(ticket - 1) % mk::kFifoSlots];
  c = {};
  c.from = c.to = v.region + 8192;
  c.bytes = 4096;
  c.value = uint64_t(ticket) << 32;
  c.slot = uint32_t(v.rank);
  c.words = 1;
  std::atomic_ref(c.ticket).store(ticket, std::memory_order_release);
}

void run(mk::run::Meeting& meeting, int rank) {
  mk_kernel_need need = test::need("across");
  need.nodes = meeting.world;
  need.backend = MK_BACKEND_IBVERBS;
  need.lanes = 1;
  need.inbox_words = 8;
  Rank r;
  const auto must = [&](int status) {
    if (status != MK_OK) throw std::runtime_error(r.err);
  };
  must(r.open(rank, meeting.world, {need}, 3000));
  auto* blobs = reinterpret_cast<mk::rt::Blob*>(meeting.blobs);
  blobs[rank] = r.blob();
  CHECK(meeting.meet());
  must(r.connect({blobs, blobs + meeting.world}));
  CHECK(meeting.meet());
  if (rank == 0) return;
  const mk_view v = r.view();
  for (uint32_t ticket = 1; ticket <= 300; ++ticket) {
    push(v, ticket);
    while (std::atomic_ref(static_cast<mk::Fifo*>(v.fifo[0])->done).load(std::memory_order_acquire) != ticket) {
      must(r.check());
      std::this_thread::yield();
    }
  }
  must(r.check());
}

}  // namespace

int main(int, char** argv) {
  const auto errors = mk::run::errors(mk::run::start(std::atoi(argv[1]), true, run));
  for (const std::string& e : errors) std::printf("%s\n", e.c_str());
  if (errors.empty()) std::printf("close: ok\n");
  return errors.empty() ? 0 : 1;
}
