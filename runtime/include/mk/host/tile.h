// Tiles and views on the CPU: plain arrays.
#pragma once
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "mk/host/element.h"

#define MK_DEVICE inline
#define MK_ROLE static inline
#define MK_BOTH inline
#define MK_UNROLL

namespace mk {

inline constexpr const char* kTarget = "host";
inline constexpr int kDeviceKind = MK_DEVICE_HOST;

// memcpy as a call. Laid out as instructions, which compilers do where they know a bound, sanitizers would not look at it.
[[gnu::noipa]] inline void copy_bytes(void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); }

// sum += values, of copies that no other thread sees: sanitizers need not look.
template <class T>
[[gnu::no_sanitize("thread", "address", "undefined")]] void add(float* sum, const T* values, int count) {
  for (int j = 0; j < count; ++j) sum[j] += to_float(values[j]);
}

enum class Layout { kSwizzled, kLinear };

template <class T, int Rows, int Columns, Layout L = Layout::kSwizzled>
struct Tile {
  using Element = T;
  static constexpr int kRows = Rows, kColumns = Columns, kBytes = Rows * Columns * int(sizeof(T));
  static_assert(L == Layout::kLinear || Columns * sizeof(T) == 128, "a swizzled row is 128 bytes");
  static_assert(Rows <= 256 && Columns <= 256, "a TMA box has at most 256 elements a side");
  T at[Rows][Columns];
  // Written by ordinary stores and not fenced since: an asynchronous reader could miss them on the GPU.
  mutable std::atomic<bool> unfenced{false};
};

// Rows x Columns as tiles of 64 columns side by side: the way in for a matrix that is multiplied by its rows.
template <class T, int Rows, int Columns>
struct Panels {
  using Panel = Tile<T, Rows, 64>;
  static constexpr int kPanels = Columns / 64, kBytes = kPanels * Panel::kBytes;
  Panel panel[kPanels];
};

// Memory that holds one thing or another, in turn.
template <class One, class Other>
union Either {
  One one;
  Other other;
  Either() : one() {}
  ~Either() {}
};

struct Tensor {
  void* p;
  int64_t rows, columns, stride;
  int height;  // rows of a tile that a load brings
};

template <class TileT>
bool make_view(Tensor& view, const void* p, int64_t rows, int64_t columns, int64_t stride, int height = TileT::kRows, bool = false) {
  view = {const_cast<void*>(p), rows, columns, stride, height};
  return true;
}

[[noreturn]] inline void broken(const char* what) {
  std::fprintf(stderr, "mk host target: %s\n", what);
  std::abort();
}

}  // namespace mk
