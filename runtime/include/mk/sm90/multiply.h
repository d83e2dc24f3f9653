// Multiply on the tensor cores. Called by all 128 threads of a warpgroup.
#pragma once
#include "mk/sm90/wgmma.h"

namespace mk {

// 64 rows x Columns of a warpgroup, fp32. Thread t holds rows 16 * (t / 32) + t % 32 / 4 and that + 8, columns 8 * j +
// 2 * (t % 4) and the next (PTX ISA, wgmma register fragment D).
template <int Columns>
struct Acc { float value[Columns / 2]; };

template <int Columns>
MK_DEVICE void clear(Acc<Columns>& acc) {
#pragma unroll
  for (int i = 0; i < Columns / 2; ++i) acc.value[i] = 0;
}

// Shared-memory matrix descriptor with 128-byte swizzle (PTX ISA): rows of 128 bytes, groups of 8 rows 1024 bytes apart.
// Rows hold K, or, of an operand by its rows, N, of which then the next 64 columns are `panel` bytes further.
MK_DEVICE uint64_t matrix_descriptor(const void* p, int panel = 16) {
  return uint64_t((shared_address(p) & 0x3FFFF) >> 4) | uint64_t(panel >> 4) << 16 | uint64_t(64) << 32 | uint64_t(1) << 62;
}

// acc = (fresh ? 0 : acc) + a[64 * warpgroup ..., :] * b^T, started; the tiles are read until mma_wait says otherwise.
template <class T, int Rows, int Columns, int Depth>
MK_DEVICE void mma(Acc<Columns>& acc, const Tile<T, Rows, Depth>& a, int warpgroup, const Tile<T, Columns, Depth>& b, bool fresh) {
  constexpr int kStep = 16;  // of K, in one instruction
  const uint64_t from_a = matrix_descriptor(a.bytes + warpgroup * 64 * Depth * 2), from_b = matrix_descriptor(b.bytes);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
  for (int k = 0; k < Depth; k += kStep) {
    const int sixteenths = k * 2 / 16;
    wgmma<0>(Of<T>{}, acc.value, from_a + sixteenths, from_b + sixteenths, fresh && k == 0 ? 0 : 1);
  }
}

// The same with b as [Depth, Columns], so acc = ... + a * b: a step along K is 16 rows down.
template <class T, int Rows, int Columns, int Depth>
MK_DEVICE void mma(Acc<Columns>& acc, const Tile<T, Rows, Depth>& a, int warpgroup, const Panels<T, Depth, Columns>& b, bool fresh) {
  constexpr int kStep = 16;
  const uint64_t from_a = matrix_descriptor(a.bytes + warpgroup * 64 * Depth * 2);
  const uint64_t from_b = matrix_descriptor(b.panel, Panels<T, Depth, Columns>::Panel::kBytes);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
  for (int k = 0; k < Depth; k += kStep)
    wgmma<1>(Of<T>{}, acc.value, from_a + k * 2 / 16, from_b + k * 128 / 16, fresh && k == 0 ? 0 : 1);
}

MK_DEVICE void mma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Until all but the last `Pending` committed multiplies are done.
template <int Pending>
MK_DEVICE void mma_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory"); }

MK_DEVICE void warpgroup_sync(int warpgroup) { asm volatile("bar.sync %0, 128;" ::"r"(1 + warpgroup) : "memory"); }
MK_DEVICE bool elected() { return threadIdx.x % 128 == 0; }  // of the warpgroup
MK_DEVICE void warp_sync() { __syncwarp(); }
MK_DEVICE bool leads_warp() { return threadIdx.x % 32 == 0; }

}  // namespace mk
