// Partial sums: 64 rows of an accumulator as they travel to the rank that adds them up, which has the same fragments. A linear
// tile holds them not by rows and columns but in the order in which threads load and store them: vector v (of 16 bytes) of
// thread t of the warpgroup is the (128 v + t)th.
#pragma once

namespace mk {

// Columns column, column + 1, ... of the accumulator into the tile, 128 bytes' worth.
template <class T, int TileColumns, int Columns>
MK_DEVICE void to_tile(Tile<T, 64, TileColumns, Layout::kLinear>& tile, const Acc<Columns>& acc, int column) {
  static_assert(TileColumns * sizeof(T) == 128, "four vectors a thread");
  const uint32_t at = shared_address(&tile) + threadIdx.x % 128 * 16;
#pragma unroll
  for (int v = 0; v < 4; ++v) {
    constexpr int kValues = 16 / sizeof(T);
    const float* from = acc.value + column / 2 + v * kValues;
    uint32_t word[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if constexpr (sizeof(T) == 4) word[i] = __float_as_uint(from[i]);
      else word[i] = pair_of(Of<T>{}, from[2 * i], from[2 * i + 1]);
    }
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(at + v * 2048), "r"(word[0]), "r"(word[1]), "r"(word[2]),
                 "r"(word[3]) : "memory");
  }
}

MK_DEVICE float value_of(Of<bf16>, uint32_t word, int half) { return __uint_as_float(half ? word & 0xffff0000 : word << 16); }
MK_DEVICE float value_of(Of<fp16>, uint32_t word, int half) {
  return __half2float(__ushort_as_half(uint16_t(half ? word >> 16 : word)));
}
MK_DEVICE float value_of(Of<fp32>, uint32_t word, int) { return __uint_as_float(word); }

// acc = the sum over all ranks, in their order, of acc where the rank is `own`, else of the 64 x Columns at from(rank), which
// put has stored. Columns from `most` on are left alone.
template <int World, class T, int Columns, class From>
MK_DEVICE void sum_in_order(Acc<Columns>& acc, int own, int most, const From& from) {
  constexpr int kBlock = 128 / sizeof(T), kValues = 16 / sizeof(T), kPerWord = 4 / sizeof(T);
  // Vectors under way at once, of so many ranks, as registers allow.
  constexpr int kAhead = World <= 4 ? 4 : 2, kPeers = World <= 4 ? World - 1 : 4;
  const int t = threadIdx.x % 128;
#pragma unroll
  for (int column = 0; column < Columns; column += kBlock) {
    if (column >= most) break;
#pragma unroll
    for (int first = 0; first < 4; first += kAhead) {
      float sum[kAhead][kValues] = {};
#pragma unroll
      for (int peers = 0; peers < World - 1; peers += kPeers) {
        uint4 got[kAhead][kPeers];
#pragma unroll
        for (int v = 0; v < kAhead; ++v)
#pragma unroll
          for (int i = peers; i < peers + kPeers && i < World - 1; ++i)
            got[v][i - peers] = __ldcg(reinterpret_cast<const uint4*>(from(i < own ? i : i + 1) + ((first + v) * 16 + t / 8) * Columns + column) + t % 8);
#pragma unroll
        for (int i = peers; i < peers + kPeers && i < World - 1; ++i)
#pragma unroll
          for (int v = 0; v < kAhead; ++v) {
            const uint32_t word[4] = {got[v][i - peers].x, got[v][i - peers].y, got[v][i - peers].z, got[v][i - peers].w};
#pragma unroll
            for (int j = 0; j < kValues; ++j) {
              sum[v][j] += i == own ? acc.value[column / 2 + (first + v) * kValues + j] : 0;
              sum[v][j] += value_of(Of<T>{}, word[j / kPerWord], j % kPerWord);
            }
          }
        // What follows is loaded when these registers are free, from addresses that are worked out then.
        asm volatile("bar.warp.sync 0xffffffff;" : "+r"(own) : : "memory");
      }
#pragma unroll
      for (int v = 0; v < kAhead; ++v)
#pragma unroll
        for (int j = 0; j < kValues; ++j) {
          float& value = acc.value[column / 2 + (first + v) * kValues + j];
          value = own == World - 1 ? sum[v][j] + value : sum[v][j];
        }
    }
  }
}

// Adds to acc the 64 x Columns at `from`, which store_add has summed up, and leaves zeros there. Columns from `most` on are left
// alone. The zeros are fenced for the store_add that follows a signal.
template <class T, int Columns>
MK_DEVICE void take(Acc<Columns>& acc, T* from, int most) {
  constexpr int kBlock = 128 / sizeof(T), kValues = 16 / sizeof(T), kPerWord = 4 / sizeof(T);
  const int t = threadIdx.x % 128;
#pragma unroll
  for (int column = 0; column < Columns; column += kBlock) {
    if (column >= most) break;
    uint4* const block = reinterpret_cast<uint4*>(from + t / 8 * Columns + column) + t % 8;
    constexpr int kStride = 16 * Columns * sizeof(T) / sizeof(uint4);
    uint4 got[4];
#pragma unroll
    for (int v = 0; v < 4; ++v) got[v] = __ldcg(block + v * kStride);
#pragma unroll
    for (int v = 0; v < 4; ++v) {
      const uint32_t word[4] = {got[v].x, got[v].y, got[v].z, got[v].w};
#pragma unroll
      for (int j = 0; j < kValues; ++j) acc.value[column / 2 + v * kValues + j] += value_of(Of<T>{}, word[j / kPerWord], j % kPerWord);
      __stcg(block + v * kStride, make_uint4(0, 0, 0, 0));
    }
  }
  fence_async_global();
}

}  // namespace mk
