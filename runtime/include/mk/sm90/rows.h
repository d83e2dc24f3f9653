// Rows copied by a warp, past L1, which does not see what other GPUs write.
#pragma once

namespace mk {

// `rows` rows of `columns` elements; from one to the next are so many elements. Rows are whole vectors of 16 bytes, aligned so.
template <class T>
MK_DEVICE void copy_rows(T* to, int64_t to_stride, const T* from, int64_t from_stride, int rows, int columns) {
  constexpr int kElements = 16 / sizeof(T), kAhead = 4;  // of a vector; vectors a lane has under way
  const int vectors = columns / kElements, all = rows * vectors;
  for (int first = threadIdx.x % 32; first < all; first += 32 * kAhead) {
    uint4 held[kAhead];
#pragma unroll
    for (int i = 0; i < kAhead; ++i)
      if (const int at = first + 32 * i; at < all)
        held[i] = __ldcg(reinterpret_cast<const uint4*>(from + at / vectors * from_stride) + at % vectors);
#pragma unroll
    for (int i = 0; i < kAhead; ++i)
      if (const int at = first + 32 * i; at < all) reinterpret_cast<uint4*>(to + at / vectors * to_stride)[at % vectors] = held[i];
  }
}

}  // namespace mk
