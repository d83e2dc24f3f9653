// One rank of a test's world.
#pragma once
#include <cstring>
#include <string>
#include <vector>

#include "blob.h"
#include "check.h"
#include "mk/abi.h"
#include "mk/protocol.h"

namespace test {

constexpr uint64_t kHeapBytes = 1 << 16;

inline mk_kernel_need need(const char* name, uint64_t abi = 7, uint64_t heap_bytes = kHeapBytes) {
  mk_kernel_need n{};
  std::strncpy(n.name, name, sizeof n.name - 1);
  n.abi = abi;
  n.heap_bytes = heap_bytes;
  n.nodes = 1;
  return n;
}

struct Rank {
  mk_world* world = nullptr;
  char err[1024] = "";
  int status = MK_OK;  // of the last call

  Rank() = default;
  Rank(const Rank&) = delete;
  Rank(Rank&& other) noexcept : world(std::exchange(other.world, nullptr)) {}
  ~Rank() { close(); }
  void close() { mk_close(std::exchange(world, nullptr)); }

  int open(int rank, int size, std::vector<mk_kernel_need> needs = {need("first"), need("second")},
           uint64_t timeout_ms = test::kAmple, mk_device_kind kind = MK_DEVICE_HOST, int device = 0) {
    mk_options o{};
    o.size = sizeof o;
    o.rank = rank;
    o.world = size;
    o.device_kind = kind;
    o.device = device;
    o.timeout_ms = timeout_ms;
    o.kernels = needs.data();
    o.kernel_count = uint32_t(needs.size());
    return status = mk_open(&o, &world, err, sizeof err);
  }
  mk::rt::Blob blob() const {
    const void* bytes;
    size_t len;
    CHECK(mk_blob(world, &bytes, &len) == MK_OK && len == sizeof(mk::rt::Blob) && len <= 8192);
    mk::rt::Blob b;
    std::memcpy(&b, bytes, len);
    return b;
  }
  int connect(const std::vector<mk::rt::Blob>& blobs) {
    return status = mk_connect(world, blobs.data(), sizeof(mk::rt::Blob), err, sizeof err);
  }
  mk_view view(uint32_t kernel = 0) {
    mk_view v;
    CHECK((status = mk_view_of(world, kernel, &v, err, sizeof err)) == MK_OK);
    return v;
  }
  mk::Control& control(int of, uint32_t kernel = 0) { return *static_cast<mk::Control*>(view(kernel).heap[of]); }
  int check() { return status = mk_check(world, err, sizeof err); }
};

// A connected world whose ranks all live in this thread.
inline std::vector<Rank> local_world(int size, mk_device_kind kind = MK_DEVICE_HOST) {
  std::vector<Rank> ranks(static_cast<size_t>(size));
  std::vector<mk::rt::Blob> blobs;
  for (int r = 0; r < size; ++r) {
    CHECK(ranks[r].open(r, size, {need("first"), need("second")}, test::kAmple, kind, r) == MK_OK);
    blobs.push_back(ranks[r].blob());
  }
  for (Rank& r : ranks) CHECK(r.connect(blobs) == MK_OK);
  return ranks;
}

}  // namespace test
