// What does not fit together is refused, and both sides are named.
#include "rank.h"

using namespace test;
using mk::rt::Blob;

namespace {

// Rank 0's complaint about a rank 1 that was opened with these kernels and then changed.
template <class Change> std::string complaint(int status, std::vector<mk_kernel_need> theirs, Change change) {
  Rank a, b;
  CHECK(a.open(0, 2) == MK_OK && b.open(1, 2, theirs) == MK_OK);
  std::vector<Blob> blobs{a.blob(), b.blob()};
  change(blobs);
  CHECK(a.connect(blobs) == status);
  CHECK(mk_view_of(a.world, 0, nullptr, nullptr, 0) == MK_EINVAL);  // still not connected
  return a.err;
}
template <class Change> std::string complaint(int status, Change change) {
  return complaint(status, {need("first"), need("second")}, change);
}

void nothing(std::vector<Blob>&) {}

}  // namespace

CASE(plans_differ) {
  std::string text = complaint(MK_EMISMATCH, {need("first"), need("second", 9)}, nothing);
  CHECK(text ==
        "kernel second: rank 0 has plan 0x0000000000000007, rank 1 has plan 0x0000000000000009: generate and build "
        "once and give every rank the same library");
}

CASE(every_rank_says_the_same) {
  Rank a, b;
  CHECK(a.open(0, 2) == MK_OK && b.open(1, 2, {need("first"), need("third")}) == MK_OK);
  const std::vector<Blob> blobs{a.blob(), b.blob()};
  CHECK(a.connect(blobs) == MK_EMISMATCH && b.connect(blobs) == MK_EMISMATCH);
  CHECK(std::string(a.err) == b.err);
  CHECK_SAYS(a.err, "kernel 1 of the world: rank 0 opened second, rank 1 opened third");
}

CASE(worlds_differ) {
  CHECK_SAYS(complaint(MK_EMISMATCH, {need("first")}, nothing), "rank 0 opened 2 kernels, rank 1 opened 1 kernels");
  CHECK_SAYS(complaint(MK_EMISMATCH, {need("first"), need("second", 7, kHeapBytes * 2)}, nothing),
             "kernel second: rank 0 needs 65536 bytes of heap, rank 1 needs 131072 bytes of heap");
  CHECK_SAYS(complaint(MK_EMISMATCH, [](auto& b) { b[1].world = 3; }),
             "rank 0 was opened with world = 2, rank 1 was opened with world = 3");
  CHECK_SAYS(complaint(MK_EMISMATCH, [](auto& b) { b[1].runtime = 5; }), "rank 1 has runtime 0x0000000000000005");
  CHECK_SAYS(complaint(MK_EMISMATCH, [](auto& b) { b[1].device_kind = MK_DEVICE_CUDA; }),
             "device kinds differ: rank 0 runs on the host, rank 1 runs on CUDA");
  CHECK_SAYS(complaint(MK_EMISMATCH, [](auto& b) { b[1].heap_bytes += 4096; }), "rank 1 has a heap of 135168 bytes");
  std::string far = complaint(MK_EUNAVAILABLE, [](auto& b) {
    std::strcpy(b[1].boot, "another");
    std::strcpy(b[1].host, "elsewhere");
  });
  CHECK_SAYS(far, "rank 0 is on host ");
  CHECK_SAYS(far, "rank 1 is on host elsewhere");
}

CASE(blobs_are_checked) {
  CHECK_SAYS(complaint(MK_EMISMATCH, [](auto& b) { b[1].magic = 0; }), "blob 1 is not one of this libmkrt");
  CHECK_SAYS(complaint(MK_EINVAL, [](auto& b) { std::swap(b[0], b[1]); }), "blob 0 comes from rank 1");
  CHECK_SAYS(complaint(MK_EINVAL, [](auto& b) { b[0].token[3] ^= 1; }), "blob 0 is from another world");
  // A stranger with a wrong token gets nothing and is told so.
  CHECK_SAYS(complaint(MK_EABORTED, [](auto& b) { b[1].token[3] ^= 1, b[1].pid = 1; }),
             "rank 1 (pid 1) is closed or dead");
}

CASE(options_are_checked) {
  Rank r;
  CHECK(r.open(0, 9) == MK_EINVAL);
  CHECK_SAYS(r.err, "the world has 9 ranks: 1 to 8 nodes of 1 to 8 ranks each");
  CHECK(r.open(2, 2) == MK_EINVAL);
  CHECK_SAYS(r.err, "rank is 2: it must be 0 to 1");
  CHECK(r.open(0, 2, {}) == MK_EINVAL);
  CHECK_SAYS(r.err, "kernel_count is 0: a world has 1 to 40 kernels");
  CHECK(r.open(0, 2, {need("")}) == MK_EINVAL);
  CHECK(r.open(0, 2, {need("odd", 7, 70001)}) == MK_EINVAL);
  CHECK_SAYS(r.err, "kernel odd: heap_bytes is 70001: it must be a multiple of 256");
  CHECK(r.open(0, 2, std::vector<mk_kernel_need>(41, need("many"))) == MK_EINVAL);
  CHECK(r.world == nullptr);
  mk_options old{};
  old.size = 8;
  CHECK(mk_open(&old, &r.world, r.err, sizeof r.err) == MK_EINVAL);
  CHECK_SAYS(r.err, "mk_options.size is 8");
  char tiny[8];
  CHECK(mk_open(&old, &r.world, tiny, sizeof tiny) == MK_EINVAL && std::string(tiny) == "mk_opti");
  CHECK(mk_open(nullptr, &r.world, nullptr, 0) == MK_EINVAL && mk_open(&old, nullptr, nullptr, 0) == MK_EINVAL);
  CHECK(mk_check(nullptr, r.err, sizeof r.err) == MK_EINVAL && mk_abort(nullptr, "") == MK_EINVAL);
  mk_close(nullptr);
}

CASE(calls_in_the_wrong_order) {
  Rank r;
  mk_view v;
  CHECK(r.open(0, 1) == MK_OK);
  CHECK(mk_view_of(r.world, 0, &v, r.err, sizeof r.err) == MK_EINVAL);
  CHECK_SAYS(r.err, "call mk_connect first");
  CHECK(mk_connect(r.world, &v, 100, r.err, sizeof r.err) == MK_EINVAL);
  CHECK(r.connect({r.blob()}) == MK_OK);
  CHECK(r.connect({r.blob()}) == MK_EINVAL);
  CHECK_SAYS(r.err, "connected already");
  CHECK(mk_view_of(r.world, 2, &v, r.err, sizeof r.err) == MK_EINVAL);
  CHECK_SAYS(r.err, "kernel 2 of 2");
}
