// Checks that every kernel library makes before it touches a device.
#pragma once
#include <cinttypes>

namespace mk {

struct Needs {
  const char* name;
  uint64_t abi, heap_bytes;
  int world, nodes;
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
  if (needs.nodes > 1)
    return error.fail(MK_EUNAVAILABLE, "%s: planned for %d nodes, and several nodes do not run yet; set [topology] nodes = 1",
                      needs.name, needs.nodes);
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

// MK_OK if no rank of the world has given up.
inline int check_health(const Needs& needs, const uint32_t* health, const Error& error) {
  const uint32_t who = *static_cast<const volatile uint32_t*>(health);
  if (who == 0) return MK_OK;
  return error.fail(MK_EABORTED, "%s: rank %u gave up in an earlier launch; close this world and open a new one", needs.name, who - 1);
}

template <int Size>
World<Size> world_of(const mk_view& view) {
  World<Size> world{};
  for (int i = 0; i < Size; ++i) world.control[i] = static_cast<Control*>(view.heap[i]);
  world.health = view.health_device;
  world.timeout_ns = view.timeout_ns;
  world.rank = view.rank;
  return world;
}

}  // namespace mk
