// The symmetric heap between threads and between processes.
#include <atomic>
#include <thread>

#include "rank.h"
#include "ranks.h"

using namespace test;
using mk::rt::Blob;

namespace {

constexpr int kWorld = 3;

uint32_t pattern(int from, int to, uint32_t kernel) { return uint32_t(1000 + from * 100 + to * 10) + kernel; }
uint32_t& slot(const mk_view& v, int at, int from) {
  return reinterpret_cast<uint32_t*>(static_cast<char*>(v.heap[at]) + sizeof(mk::Control))[from];
}

// Every rank writes into all heaps, meets, and reads what the others left in its own.
void exchange(mk::run::Meeting& meeting, int rank) {
  Rank r;
  CHECK(r.open(rank, kWorld) == MK_OK);
  const Blob own = r.blob();
  std::memcpy(meeting.blobs + size_t(rank) * sizeof own, &own, sizeof own);
  CHECK(meeting.meet());
  r.status = mk_connect(r.world, meeting.blobs, sizeof own, r.err, sizeof r.err);
  if (r.status != MK_OK) throw std::runtime_error(r.err);
  for (uint32_t kernel = 0; kernel < 2; ++kernel) {
    const mk_view v = r.view(kernel);
    CHECK(v.rank == rank && v.world == kWorld && v.abi == 7 && v.heap_bytes == kHeapBytes);
    CHECK(v.timeout_ns == test::kAmple * 1000000 && v.runtime == mk_runtime() && *v.health == 0);
    CHECK(reinterpret_cast<uintptr_t>(v.heap[rank]) % 256 == 0);
    for (uint64_t i = 0; i < kHeapBytes / 4; ++i) {
      if (i >= sizeof(mk::Control) / 4 && i < sizeof(mk::Control) / 4 + kWorld) continue;  // peers write there already
      CHECK(static_cast<uint32_t*>(v.heap[rank])[i] == 0);
    }
    for (int to = 0; to < kWorld; ++to)
      std::atomic_ref(slot(v, to, rank)).store(pattern(rank, to, kernel), std::memory_order_release);
  }
  CHECK(meeting.meet());
  for (uint32_t kernel = 0; kernel < 2; ++kernel)
    for (int from = 0; from < kWorld; ++from)
      CHECK(std::atomic_ref(slot(r.view(kernel), rank, from)).load() == pattern(from, rank, kernel));
  if (rank == 0) r.close();  // peers may still use it
  CHECK(meeting.meet());
  if (rank != 0) std::atomic_ref(slot(r.view(), 0, rank)).store(1u, std::memory_order_release);
}

void all_right(const mk::run::Meeting& meeting) {
  for (const std::string& e : mk::run::errors(meeting)) throw std::runtime_error(e);
}

}  // namespace

CASE(heap_between_threads) { all_right(mk::run::start(kWorld, false, exchange)); }
CASE(heap_between_processes) { all_right(mk::run::start(kWorld, true, exchange)); }

CASE(threads_share_one_mapping) {
  std::vector<Rank> ranks = local_world(kWorld);
  for (int r = 0; r < kWorld; ++r)
    for (int q = 0; q < kWorld; ++q) CHECK(ranks[r].view(1).heap[q] == ranks[q].view(1).heap[q]);
}

CASE(closed_neighbour_is_named) {
  Rank a, b;
  CHECK(a.open(0, 2) == MK_OK && b.open(1, 2) == MK_OK);
  const std::vector<Blob> blobs{a.blob(), b.blob()};
  b.close();
  CHECK(a.connect(blobs) == MK_EABORTED);
  CHECK_SAYS(a.err, "rank 1 has closed its world already");
}

CASE(device_calls) {
  std::vector<Rank> ranks = local_world(1);
  mk_world* w = ranks[0].world;
  char* err = ranks[0].err;
  void *a, *b, *stream, *from, *to;
  CHECK(mk_alloc(w, 1000, &a, err, 1024) == MK_OK && mk_alloc(w, 0, &b, err, 1024) == MK_OK);
  CHECK(a && b && uintptr_t(a) % 256 == 0 && uintptr_t(b) % 256 == 0);
  const std::string text(1000, 'x');
  std::string back(1000, ' ');
  CHECK(mk_copy(w, a, text.data(), 1000, err, 1024) == MK_OK && mk_copy(w, back.data(), a, 1000, err, 1024) == MK_OK);
  CHECK(back == text);
  CHECK(mk_copy(w, nullptr, nullptr, 0, err, 1024) == MK_OK && mk_copy(w, nullptr, a, 8, err, 1024) == MK_EINVAL);
  double ms = -1;
  CHECK(mk_stream_new(w, &stream, err, 1024) == MK_OK && mk_stream_sync(w, stream, err, 1024) == MK_OK);
  CHECK(mk_mark(w, stream, &from, err, 1024) == MK_OK && mk_mark(w, stream, &to, err, 1024) == MK_OK);
  CHECK(mk_elapsed(w, from, to, &ms, err, 1024) == MK_OK && ms >= 0);
  mk_stream_free(w, stream);
  CHECK(mk_free(w, a, err, 1024) == MK_OK && mk_free(w, b, err, 1024) == MK_OK &&
        mk_free(w, nullptr, err, 1024) == MK_OK);
}
