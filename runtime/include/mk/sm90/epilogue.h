// From the accumulator to the tile that is stored. Called by all 128 threads of a warpgroup.
#pragma once

namespace mk {

struct Identity { MK_DEVICE static float of(float x) { return x; } };
struct Gelu { MK_DEVICE static float of(float x) { return 0.5f * x * (1 + erff(x * 0.70710678f)); } };
struct Silu { MK_DEVICE static float of(float x) { return __fdividef(x, 1 + __expf(-x)); } };

// Adds bias[first], bias[first + 1], ... to the columns of the accumulator; behind `count` elements, an even number, there
// is nothing. The bias is aligned to 4 bytes.
template <class T, int Columns>
MK_DEVICE void add_bias(Acc<Columns>& acc, const T* bias, int first, int count) {
  const int mine = first + threadIdx.x % 4 * 2;
#pragma unroll
  for (int j = 0; j < Columns; j += 8) {
    if (mine + j >= count) continue;
    const uint32_t pair = __ldg(reinterpret_cast<const uint32_t*>(bias + mine + j));
    const T low = reinterpret_cast<const T(&)[2]>(pair)[0], high = reinterpret_cast<const T(&)[2]>(pair)[1];
    float* v = acc.value + j / 2;
    v[0] += float(low), v[1] += float(high), v[2] += float(low), v[3] += float(high);
  }
}

// Adds `rows` rows of `columns` elements, an even number, of a matrix, as far as the accumulator goes. Two elements are aligned to
// their size. Another tile's part of the matrix may be overwritten meanwhile, as C is by a kernel that adds to it.
template <class T, int Columns>
MK_DEVICE void add_rows(Acc<Columns>& acc, const T* matrix, int64_t stride, int rows, int columns) {
  struct alignas(2 * sizeof(T)) Pair { T low, high; };
  const int top = threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4, mine = threadIdx.x % 4 * 2;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const T* from = matrix + (top + 8 * half) * stride + mine;
    if (top + 8 * half >= rows) continue;
#pragma unroll
    for (int j = 0; j < Columns; j += 8) {
      if (mine + j >= columns) continue;
      const Pair pair = *reinterpret_cast<const Pair*>(from + j);
      acc.value[j / 2 + 2 * half] += float(pair.low);
      acc.value[j / 2 + 2 * half + 1] += float(pair.high);
    }
  }
}

// Function::of every element.
template <class Function, int Columns>
MK_DEVICE void activate(Acc<Columns>& acc) {
#pragma unroll
  for (int i = 0; i < Columns / 2; ++i) acc.value[i] = Function::of(acc.value[i]);
}

// Folds pairs of columns: column j of the result is Function::of(column 2j) * column 2j + 1.
//
// Lane q of four holds columns q and 4 + q of each 8 of the result, and shall hold 2q and 2q + 1. Two exchanges do it: in
// each, every lane gives one value and takes one.
template <class Function, int Columns>
MK_DEVICE Acc<Columns / 2> gate(const Acc<Columns>& acc) {
  const int q = threadIdx.x % 4, from[2] = {0x3021 >> q * 4 & 3, 0x2130 >> q * 4 & 3};
  const bool middle = q == 1 || q == 2;
  Acc<Columns / 2> folded;
#pragma unroll
  for (int j = 0; j < Columns / 4; j += 2) {  // j / 4: which 8 columns of the result, j / 2 % 2: rows r or r + 8
    const float* v = acc.value + j / 4 * 8 + j % 4;
    const float near = Function::of(v[0]) * v[1], far = Function::of(v[4]) * v[5];
    const float one = __shfl_sync(~0u, middle ? near : far, from[0], 4), two = __shfl_sync(~0u, middle ? far : near, from[1], 4);
    folded.value[j] = middle ? one : two;
    folded.value[j + 1] = middle ? two : one;
  }
  return folded;
}

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
