// From the accumulator to the tile that is stored.
#pragma once
#include <cmath>

namespace mk {

struct Identity { static float of(float x) { return x; } };
struct Gelu { static float of(float x) { return 0.5f * x * (1 + std::erf(x * 0.70710678f)); } };
struct Silu { static float of(float x) { return x / (1 + std::exp(-x)); } };

// Adds bias[first], bias[first + 1], ... to the columns of the accumulator; behind `count` elements there is nothing.
template <class T, int Columns>
void add_bias(Acc<Columns>& acc, const T* bias, int first, int count) {
  for (int j = 0; j < Columns && first + j < count; ++j) {
    const float b = to_float(bias[first + j]);
    for (int i = 0; i < 64; ++i) acc.value[i][j] += b;
  }
}

// Adds `rows` rows of `columns` elements of a matrix, as far as the accumulator goes.
template <class T, int Columns>
void add_rows(Acc<Columns>& acc, const T* matrix, int64_t stride, int rows, int columns) {
  for (int i = 0; i < 64 && i < rows; ++i) {
    T own[Columns];
    copy_bytes(own, matrix + i * stride, std::min(Columns, columns) * sizeof(T));
    add(acc.value[i], own, std::min(Columns, columns));
  }
}

// Function::of every element.
template <class Function, int Columns>
void activate(Acc<Columns>& acc) {
  for (auto& row : acc.value)
    for (float& x : row) x = Function::of(x);
}

// Folds pairs of columns: column j of the result is Function::of(column 2j) * column 2j + 1.
template <class Function, int Columns>
Acc<Columns / 2> gate(const Acc<Columns>& acc) {
  Acc<Columns / 2> folded;
  for (int i = 0; i < 64; ++i)
    for (int j = 0; j < Columns / 2; ++j) folded.value[i][j] = Function::of(acc.value[i][2 * j]) * acc.value[i][2 * j + 1];
  return folded;
}

template <class T, int TileColumns, int Columns>
[[gnu::no_sanitize("thread", "address", "undefined")]] void round_rows(T (&out)[64][TileColumns], const float (&in)[64][Columns], int column) {
  for (int i = 0; i < 64; ++i)
    for (int j = 0; j < TileColumns; ++j) out[i][j] = rounded<T>(in[i][column + j]);
}

// Rounds columns column, column + 1, ... of the accumulator into the tile, which is not fenced by this.
template <class T, int TileColumns, Layout L, int Columns>
void to_tile(Tile<T, 64, TileColumns, L>& tile, const Acc<Columns>& acc, int column) {
  T own[64][TileColumns];
  round_rows(own, acc.value, column);
  copy_bytes(tile.at, own, sizeof own);
  tile.unfenced.store(true, std::memory_order_relaxed);
  unfenced_tiles.push_back(&tile.unfenced);
}

}  // namespace mk
