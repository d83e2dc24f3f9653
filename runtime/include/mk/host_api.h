// Checks that every kernel library makes before it touches a device.
#pragma once
#include <cinttypes>

namespace mk {

struct Needs {
  const char* name;
  uint64_t abi, heap_bytes;
  int world, nodes;
  int64_t max_m;     // rows of C
  bool fixed_m;      // and no other number of them
  int64_t max_rows;  // of one rank's shard
};

// MK_OK if the world behind the view is one this kernel was generated for.
inline int check_view(const Needs& needs, const mk_view* view, const Error& error) {
  if (view == nullptr) return error.fail(MK_EINVAL, "%s: the view is null", needs.name);
  if (view->size != sizeof(mk_view) || view->runtime != MK_RUNTIME_HASH)
    return error.fail(MK_EMISMATCH,
                      "%s: built with runtime %016" PRIx64 ", libmkrt is runtime %016" PRIx64 "; build both with the same mkgen",
                      needs.name, uint64_t(MK_RUNTIME_HASH), view->size == sizeof(mk_view) ? view->runtime : 0);
  if (view->abi != needs.abi || view->heap_bytes < needs.heap_bytes)
    return error.fail(MK_EMISMATCH, "%s: this library is plan %016" PRIx64 ", the world was made for plan %016" PRIx64
                      "; generate and build again, and give every rank the same library", needs.name, needs.abi, view->abi);
  if (view->nodes != needs.nodes)
    return error.fail(MK_EMISMATCH, "%s: generated for %d nodes, this world has %d; change [topology] or open it with the kernel's own needs",
                      needs.name, needs.nodes, view->nodes);
  if (view->world != needs.world)
    return error.fail(MK_EMISMATCH, "%s: generated for a world of %d, this world has %d ranks; change [topology] or start %d ranks",
                      needs.name, needs.world, view->world, needs.world);
  if (view->device_kind != kDeviceKind)
    return error.fail(MK_EMISMATCH, "%s: this library is for target %s, the world is on %s", needs.name, kTarget,
                      view->device_kind == MK_DEVICE_CUDA ? "CUDA devices" : "the host");
  return MK_OK;
}

// MK_OK if p may be read or written by TMA.
inline int check_pointer(const Needs& needs, const char* argument, const void* p, const Error& error) {
  if (p == nullptr) return error.fail(MK_EINVAL, "%s: %s is null; pass a device pointer", needs.name, argument);
  if (reinterpret_cast<uintptr_t>(p) % 16 != 0)
    return error.fail(MK_EINVAL, "%s: %s = %p is not 16-byte aligned, as TMA needs it", needs.name, argument, p);
  return MK_OK;
}

// Elements from one row to the next, for a stride as the caller gives it.
inline int64_t row_stride(int64_t stride, int64_t columns) { return stride == 0 ? columns : stride; }

// MK_OK if a stride, or 0, fits rows of so many columns, and TMA.
inline int check_stride(const Needs& needs, const char* argument, int64_t stride, int64_t columns, const Error& error) {
  constexpr int64_t kMost = (int64_t(1) << 40) / 16;  // TMA strides are below 2^40 bytes
  if (stride == 0 || (stride >= columns && stride % 8 == 0 && stride < kMost)) return MK_OK;
  return error.fail(MK_EINVAL, "%s: %s = %" PRId64 " is not a multiple of 8 from %" PRId64 ", the length of a row, to %" PRId64
                    "; pass 0 for rows without gaps", needs.name, argument, stride, columns, kMost - 8);
}

// MK_OK if the plan allows M rows.
inline int check_m(const Needs& needs, int64_t m, const Error& error) {
  if (needs.fixed_m ? m == needs.max_m : m >= 0 && m <= needs.max_m) return MK_OK;
  if (needs.fixed_m)
    return error.fail(MK_EINVAL, "%s: M = %" PRId64 ", the plan fixes it at %" PRId64 "; make [problem] m dynamic", needs.name, m, needs.max_m);
  return error.fail(MK_EINVAL, "%s: M = %" PRId64 ", the plan allows 0 to %" PRId64 "; raise [problem] m.max", needs.name, m, needs.max_m);
}

// MK_OK if a launch may bring K columns where the plan allows up to `most`.
inline int check_k(const Needs& needs, int64_t k, int64_t most, const Error& error) {
  if (k >= 0 && k <= most && k % 8 == 0) return MK_OK;
  return error.fail(MK_EINVAL, "%s: K = %" PRId64 ", the plan allows multiples of 8 from 0 to %" PRId64 "; raise [problem] k.max", needs.name, k, most);
}

// MK_OK and the shards of a launch, whose rows the caller may leave to this kernel (null).
template <int World>
int shards_of(const Needs& needs, int64_t m, const int64_t* rows, EvenShards<World>& shards, const Error& error) {
  if (int status = check_m(needs, m, error)) return status;
  if (rows != nullptr)
    return error.fail(MK_EINVAL, "%s: rows are given, but the plan splits M evenly; set [problem] max_rows, or pass no rows", needs.name);
  shards = {int(m)};
  return MK_OK;
}
template <int World>
int shards_of(const Needs& needs, int64_t m, const int64_t* rows, GivenShards<World>& shards, const Error& error) {
  if (int status = check_m(needs, m, error)) return status;
  const EvenShards<World> even{int(m)};
  GivenShards<World> made;
  int64_t left = m;
  for (int rank = 0; rank < World; ++rank) {
    const int64_t here = rows == nullptr ? even.rows(rank) : rows[rank];
    if (here < 0 || here > needs.max_rows)
      return error.fail(MK_EINVAL, "%s: rank %d has %" PRId64 " rows, the plan allows 0 to %" PRId64 "; raise [problem] max_rows",
                        needs.name, rank, here, needs.max_rows);
    left -= here;
    made.append(rank, int(here));
  }
  if (left != 0)
    return error.fail(MK_EINVAL, "%s: the rows of all ranks are %" PRId64 ", M = %" PRId64 "; make them equal", needs.name, m - left, m);
  shards = made;
  return MK_OK;
}

// MK_OK if no rank of the world has given up.
inline int check_health(const Needs& needs, const uint32_t* health, const Error& error) {
  const uint32_t who = *static_cast<const volatile uint32_t*>(health);
  if (who == 0) return MK_OK;
  return error.fail(MK_EABORTED, "%s: rank %u gave up in an earlier launch; close this world and open a new one", needs.name, who - 1);
}

template <class World>
World world_of(const mk_view& view) {
  World world{};
  const int first = view.rank / World::kLocal * World::kLocal;  // of this node
  for (int i = 0; i < World::kLocal; ++i) world.control[i] = static_cast<Control*>(view.heap[first + i]);
  world.health = view.health_device;
  world.timeout_ns = view.timeout_ns;
  world.rank = view.rank;
  return world;
}

}  // namespace mk
