// A rank that cannot join a world ends it on all ranks at once, with its own sentence: nobody waits for the deadline, an hour here.
#include <cstdlib>
#include <thread>

#include "rank.h"
#include "ranks.h"

using namespace test;

namespace {

constexpr int kDevice[] = {0, 1, 3, 1, 2, 1};  // of ranks; the first and the third have no peer access
constexpr const char* kReason = "cannot access the memory of";

struct World {
  int ranks, nodes;
  mk_backend backend;
  bool processes, close_at_once;
};

mk_kernel_need kernel(const World& w) {
  mk_kernel_need n = need("apart");
  n.nodes = w.nodes;
  n.backend = w.backend;
  n.lanes = n.inbox_words = w.nodes > 1 ? 2 : 0;
  return n;
}

// Whoever was connected before the fault is told by mk_check, all others by mk_connect.
void told(const World& w, mk::run::Meeting& meeting, int rank) {
  Rank r;
  CHECK(r.open(rank, w.ranks, {kernel(w)}, kAmple, MK_DEVICE_CUDA, kDevice[rank]) == MK_OK);
  mk::rt::Blob own = r.blob();
  std::memcpy(meeting.blobs + size_t(rank) * sizeof own, &own, sizeof own);
  CHECK(meeting.meet());
  std::vector<mk::rt::Blob> blobs(size_t(w.ranks));
  std::memcpy(blobs.data(), meeting.blobs, blobs.size() * sizeof own);
  r.connect(blobs);
  while (r.status == MK_OK && r.check() == MK_OK) std::this_thread::yield();
  const bool named = std::string(r.err).find("rank 0") != std::string::npos || std::string(r.err).find("rank 2") != std::string::npos;
  if (!named) throw std::runtime_error("named nobody: " + std::string(r.err));
  if (w.close_at_once) return;  // what it says may then be that the rank is gone
  CHECK_SAYS(r.err, kReason);
  CHECK(r.check() == MK_EABORTED);
  CHECK_SAYS(r.err, kReason);
  CHECK(meeting.meet());
}

void all_told(const World& w) {
  ::setenv("FAKE_CUDA_APART", "0,3", 1);
  const auto& meeting = mk::run::start(w.ranks, w.processes, [&](mk::run::Meeting& m, int rank) { told(w, m, rank); });
  for (const std::string& error : mk::run::errors(meeting)) throw std::runtime_error(error);
}

void every_way(int ranks, int nodes, mk_backend backend) {
  for (bool processes : {true, false})  // forked first, while there are no threads
    for (bool close_at_once : {false, true}) all_told({ranks, nodes, backend, processes, close_at_once});
}

}  // namespace

CASE(apart_on_one_node) { every_way(3, 1, MK_BACKEND_NONE); }
CASE(apart_over_tcp) { every_way(6, 2, MK_BACKEND_TCP); }
CASE(apart_over_shm) { every_way(6, 2, MK_BACKEND_SHM); }
