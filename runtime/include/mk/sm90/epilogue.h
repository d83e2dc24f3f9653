// From the accumulator to the tile that is stored. Called by all 128 threads of a warpgroup.
#pragma once

namespace mk {

MK_DEVICE uint32_t pair_of(Of<bf16>, float low, float high) {
  const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
  return reinterpret_cast<const uint32_t&>(both);
}
MK_DEVICE uint32_t pair_of(Of<fp16>, float low, float high) {
  const __half2 both = __floats2half2_rn(low, high);
  return reinterpret_cast<const uint32_t&>(both);
}

// Rounds columns column .. column + 63 of the accumulator into the tile.
template <class T, int Columns>
MK_DEVICE void to_tile(Tile<T, 64, 64>& tile, const Acc<Columns>& acc, int column) {
  const int warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32, row = warp * 16 + lane % 16;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    uint32_t pair[4];
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      const float* v = acc.value + column / 2 + j * 8 + q * 2;
      pair[q] = pair_of(Of<T>{}, v[0], v[1]);
    }
    const uint32_t at = shared_address(&tile) + row * 128 + (((j * 2 + lane / 16) ^ (row & 7)) * 16);
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(pair[0]), "r"(pair[1]),
                 "r"(pair[2]), "r"(pair[3]) : "memory");
  }
}

// Columns column .. column + 31 of the accumulator into the tile.
template <int Columns>
MK_DEVICE void to_tile(Tile<fp32, 64, 32>& tile, const Acc<Columns>& acc, int column) {
  const int warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
#pragma unroll
  for (int j = 0; j < 4; ++j)
#pragma unroll
    for (int half = 0; half < 2; ++half) {  // rows r and r + 8 of the fragment
      const float* v = acc.value + column / 2 + j * 4 + half * 2;
      const int row = warp * 16 + half * 8 + lane / 4, chunk = j * 2 + lane % 4 / 2;
      const uint32_t at = shared_address(&tile) + row * 128 + (chunk ^ (row & 7)) * 16 + lane % 2 * 8;
      asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(at), "f"(v[0]), "f"(v[1]) : "memory");
    }
}

}  // namespace mk
