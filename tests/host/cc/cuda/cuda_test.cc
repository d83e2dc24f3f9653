// libmkrt's CUDA side over the fake driver of libcuda.cc.
#include <thread>
#include <dlfcn.h>

#include <cstdlib>

#include "device.h"
#include "rank.h"

using namespace test;
using mk::rt::Blob;

namespace {

template <class F> F* fake(const char* name) {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW);
  CHECK(library);
  auto* f = reinterpret_cast<F*>(::dlsym(library, name));
  CHECK(f);
  return f;
}
int live() { return fake<int()>("fake_cuda_live")(); }
bool may_access(const void* p, int device) { return fake<int(const void*, int)>("fake_cuda_may_access")(p, device); }

}  // namespace

CASE(cuda_threads_reach_each_other) {
  {
    std::vector<Rank> ranks = local_world(4, MK_DEVICE_CUDA);
    for (Rank& r : ranks)
      for (int owner = 0; owner < 4; ++owner) {
        CHECK(r.view(1).heap[owner] == ranks[owner].view(1).heap[owner]);
        for (int device = 0; device < 4; ++device) CHECK(may_access(r.view(1).heap[owner], device));
      }
    CHECK(ranks[0].blob().heap_bytes == 2 << 20);
    ranks[0].close();  // its heap lives on for the others
    CHECK(may_access(ranks[1].view().heap[0], 1));
  }
  CHECK(live() == 0);
}

CASE(cuda_ranks_on_one_device) {
  Rank a, b;
  CHECK(a.open(0, 2, {need("first")}, 1000, MK_DEVICE_CUDA, 2) == MK_OK);
  CHECK(b.open(1, 2, {need("first")}, 1000, MK_DEVICE_CUDA, 2) == MK_OK);
  const std::vector<Blob> blobs{a.blob(), b.blob()};
  CHECK(a.connect(blobs) == MK_OK && b.connect(blobs) == MK_OK);
  CHECK(may_access(a.view().heap[1], 2) && a.view().heap[0] != a.view().heap[1]);
}

CASE(cuda_calls) {
  {
    std::vector<Rank> ranks = local_world(1, MK_DEVICE_CUDA);
    mk_world* w = ranks[0].world;
    char* err = ranks[0].err;
    void *a, *stream, *from, *to;
    std::string text(5000, 'x'), back(5000, ' ');
    CHECK(mk_alloc(w, 5000, &a, err, 1024) == MK_OK && mk_copy(w, a, text.data(), 5000, err, 1024) == MK_OK);
    CHECK(mk_copy(w, back.data(), a, 5000, err, 1024) == MK_OK && back == text);
    double ms = -1;
    CHECK(mk_stream_new(w, &stream, err, 1024) == MK_OK && mk_stream_sync(w, stream, err, 1024) == MK_OK);
    CHECK(mk_mark(w, stream, &from, err, 1024) == MK_OK && mk_mark(w, stream, &to, err, 1024) == MK_OK);
    CHECK(mk_elapsed(w, from, to, &ms, err, 1024) == MK_OK && ms >= 0);
    mk_stream_free(w, stream);
    CHECK(mk_free(w, a, err, 1024) == MK_OK && mk_free(w, err, err, 1024) == MK_ESYSTEM);
    CHECK_SAYS(err, "cuMemFree: fake error (1)");
  }
  CHECK(live() == 0);
}

CASE(cuda_copies_in_order) {
  {
    auto device = mk::rt::cuda_device(1);
    auto copies = device->copies();
    void* mapped;
    auto* host = static_cast<char*>(device->pinned(5000, &mapped));
    char* memory = static_cast<char*>(device->alloc(5000));
    for (int i = 0; i < 5000; ++i) CHECK(host[i] == 0);
    for (char round = 1; round < 50; ++round) {
      for (int i = 0; i < 2500; ++i) host[i] = char(round + i);
      copies->start(memory, host, 2500);
      copies->start(memory, host, 0);
      copies->start(host + 2500, memory, 2500);
      CHECK(copies->started() == 3 * uint64_t(round));
      for (uint64_t last = 0, now; last < copies->started(); last = now) CHECK((now = copies->finished()) >= last);
      CHECK(!std::memcmp(host, host + 2500, 2500));
    }
    copies->start(memory, host, 5000);  // its end waits
    copies.reset();
    device->free(memory);
    device->pinned_free(host);
  }
  CHECK(live() == 0);
}

CASE(cuda_words_behind_copies) {
  {
    auto device = mk::rt::cuda_device(1);
    auto copies = device->copies();
    constexpr uint32_t kWords = 600;  // more than two batches of the driver
    void* mapped;
    auto* host = static_cast<uint64_t*>(device->pinned(8 * kWords, &mapped));
    auto* memory = static_cast<uint64_t*>(device->alloc(8 * kWords));
    auto* inbox = static_cast<uint64_t*>(device->alloc(8 * kWords));
    std::vector<uint64_t> seen(kWords);
    for (uint32_t count : {1u, 255u, 256u, kWords - 1})
      for (uint64_t round = 1; round < 20; ++round) {
        for (uint32_t i = 0; i < kWords; ++i) host[i] = round + i;
        const uint64_t before = copies->started();
        copies->ahead(memory, host, 8 * kWords);
        CHECK(copies->started() == before);
        copies->words(inbox, count, round << 32 | count);
        CHECK(copies->started() == before + 1);
        while (copies->finished() < copies->started()) std::this_thread::yield();
        device->copy(seen.data(), inbox, 8 * kWords);
        for (uint32_t i = 0; i < kWords; ++i) CHECK((seen[i] == (round << 32 | count)) == (i < count));
        device->copy(seen.data(), memory, 8 * kWords);
        CHECK(!std::memcmp(seen.data(), host, 8 * kWords));
      }
    copies.reset();
    device->free(memory);
    device->free(inbox);
    device->pinned_free(host);
  }
  CHECK(live() == 0);
}

CASE(cuda_abort_and_check) {
  std::vector<Rank> ranks = local_world(2, MK_DEVICE_CUDA);
  CHECK(ranks[0].check() == MK_OK);
  CHECK(mk_abort(ranks[0].world, "enough") == MK_OK);
  CHECK(ranks[0].check() == MK_EABORTED);
  CHECK_SAYS(ranks[0].err, "kernel first: rank 0: the host called mk_abort: enough");
  CHECK(ranks[1].control(1, 1).abort == 1 && ranks[1].control(1, 1).report.wanted == mk::Wanted::kAbort);
}

CASE(cuda_devices_apart) {
  ::setenv("FAKE_CUDA_APART", "0,3", 1);
  {
    Rank a, b;
    CHECK(a.open(0, 2, {need("first")}, 1000, MK_DEVICE_CUDA, 0) == MK_OK);
    CHECK(b.open(1, 2, {need("first")}, 1000, MK_DEVICE_CUDA, 3) == MK_OK);
    CHECK(a.connect({a.blob(), b.blob()}) == MK_EUNAVAILABLE);
    CHECK_SAYS(a.err,
               "rank 0 on CUDA device 0 (Fake) cannot access the memory of rank 1 on CUDA device 3 (Fake): no peer "
               "access between them");
  }
  CHECK(live() == 0);
}

CASE(cuda_device_missing) {
  Rank a;
  CHECK(a.open(0, 1, {need("first")}, 1000, MK_DEVICE_CUDA, 4) == MK_EUNAVAILABLE);
  CHECK_SAYS(a.err, "CUDA device 4 does not exist: 4 visible");
  CHECK(live() == 0);
}

CASE(cuda_cycles) {
  for (int i = 0; i < 100; ++i) local_world(3, MK_DEVICE_CUDA);
  CHECK(live() == 0);
}

CASE(cuda_nodes_leave_nothing_behind) {
  for (int i = 0; i < 20; ++i) {
    mk_kernel_need across = need("across");
    across.nodes = 2;
    across.backend = i % 2 ? MK_BACKEND_SHM : MK_BACKEND_TCP;
    across.lanes = 1;
    across.inbox_words = 4;
    Rank rank[2];
    std::vector<mk::rt::Blob> blobs;
    for (int r = 0; r < 2; ++r) {
      CHECK(rank[r].open(r, 2, {across}, test::kAmple, MK_DEVICE_CUDA, r) == MK_OK);
      blobs.push_back(rank[r].blob());
    }
    std::thread other([&] { rank[1].connect(blobs); });
    rank[0].connect(blobs);
    other.join();
    CHECK(rank[0].status == MK_OK && rank[1].status == MK_OK);
    std::thread closes([&] { rank[1].close(); });  // each stays until the other says goodbye
    rank[0].close();
    closes.join();
  }
  CHECK(live() == 0);
}
