// Tiles and views on the CPU: plain arrays.
#pragma once
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define MK_DEVICE inline
#define MK_ROLE static inline
#define MK_BOTH inline
#define MK_UNROLL

namespace mk {

inline constexpr const char* kTarget = "host";
inline constexpr int kDeviceKind = MK_DEVICE_HOST;

struct bf16 { uint16_t bits; };
inline float to_float(bf16 b) {
  const uint32_t u = uint32_t(b.bits) << 16;
  float f;
  std::memcpy(&f, &u, 4);
  return f;
}
// Nearest, ties to even; NaN stays NaN.
inline bf16 to_bf16(float f) {
  uint32_t u;
  std::memcpy(&u, &f, 4);
  if ((u & 0x7fffffff) > 0x7f800000) return {uint16_t(u >> 16 | 0x40)};
  return {uint16_t((u + 0x7fff + (u >> 16 & 1)) >> 16)};
}

enum class Layout { kSwizzled, kLinear };

template <class T, int Rows, int Columns, Layout L = Layout::kSwizzled>
struct Tile {
  static constexpr int kRows = Rows, kColumns = Columns, kBytes = Rows * Columns * int(sizeof(T));
  static_assert(L == Layout::kLinear || Columns * sizeof(T) == 128, "a swizzled row is 128 bytes");
  static_assert(Rows <= 256 && Columns <= 256, "a TMA box has at most 256 elements a side");
  T at[Rows][Columns];
  // Written by ordinary stores and not fenced since: an asynchronous reader could miss them on the GPU.
  mutable std::atomic<bool> unfenced{false};
};

struct Tensor {
  bf16* p;
  int64_t rows, columns, stride;
};

template <class TileT>
bool make_view(Tensor& view, const bf16* p, int64_t rows, int64_t columns, int64_t stride) {
  view = {const_cast<bf16*>(p), rows, columns, stride};
  return true;
}

[[noreturn]] inline void broken(const char* what) {
  std::fprintf(stderr, "mk host target: %s\n", what);
  std::abort();
}

}  // namespace mk
