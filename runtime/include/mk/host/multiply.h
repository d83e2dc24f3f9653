// Multiply with float loops. One thread stands for a warpgroup. A multiply happens when it is waited for, so a stage that is
// given back too early shows.
#pragma once

namespace mk {

template <int Columns>
struct Acc { float value[64][Columns]; };

inline thread_local std::deque<std::function<void()>> multiplies;

template <int Rows, int Columns, int Depth>
void mma(Acc<Columns>& acc, const Tile<bf16, Rows, Depth>& a, int warpgroup, const Tile<bf16, Columns, Depth>& b, bool fresh) {
  multiplies.push_back([&acc, &a, &b, warpgroup, fresh] {
    float across[Depth][Columns];  // b transposed: the inner loop runs over columns
    for (int j = 0; j < Columns; ++j)
      for (int k = 0; k < Depth; ++k) across[k][j] = to_float(b.at[j][k]);
    for (int i = 0; i < 64; ++i) {
      float* row = acc.value[i];
      if (fresh) std::fill_n(row, Columns, 0.f);
      for (int k = 0; k < Depth; ++k) {
        const float x = to_float(a.at[warpgroup * 64 + i][k]);
        for (int j = 0; j < Columns; ++j) row[j] += x * across[k][j];
      }
    }
  });
}
inline void mma_commit() {}
template <int Pending>
void mma_wait() {
  for (; multiplies.size() > Pending; multiplies.pop_front()) multiplies.front()();
}

inline void warpgroup_sync(int) {}
inline bool elected() { return true; }

template <int Columns>
void to_tile(Tile<bf16, 64, 64>& tile, const Acc<Columns>& acc, int column) {
  for (int i = 0; i < 64; ++i)
    for (int j = 0; j < 64; ++j) tile.at[i][j] = to_bf16(acc.value[i][column + j]);
  tile.unfenced.store(true, std::memory_order_relaxed);
  unfenced_tiles.push_back(&tile.unfenced);
}

}  // namespace mk
