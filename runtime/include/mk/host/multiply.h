// Multiply with float loops. One thread stands for a warpgroup. A multiply happens when it is waited for, so a stage that is
// given back too early shows.
#pragma once

namespace mk {

template <int Columns>
struct Acc { float value[64][Columns]; };

inline thread_local std::deque<std::function<void()>> multiplies;

// Works on copies that no other thread sees, so sanitizers, under which it would take most of the time, need not look.
template <int Columns, int Depth>
[[gnu::no_sanitize("thread", "address", "undefined")]] void multiply_add(float (&out)[64][Columns], const float (&a)[64][Depth],
                                                                         const float (&b)[Depth][Columns]) {
  for (int i = 0; i < 64; ++i)
    for (int k = 0; k < Depth; ++k)
      for (int j = 0; j < Columns; ++j) out[i][j] += a[i][k] * b[k][j];
}

// Element [k][j] of an operand that lies as [N, K], and of one that lies as [K, N].
template <class T, int Columns, int Depth>
float across_at(const Tile<T, Columns, Depth>& b, int k, int j) { return to_float(b.at[j][k]); }
template <class T, int Depth, int Columns>
float across_at(const Panels<T, Depth, Columns>& b, int k, int j) { return to_float(b.panel[j / 64].at[k][j % 64]); }

template <class T, int Rows, int Columns, int Depth, class BTile>
void mma(Acc<Columns>& acc, const Tile<T, Rows, Depth>& a, int warpgroup, const BTile& b, bool fresh) {
  multiplies.push_back([&acc, &a, &b, warpgroup, fresh] {
    float rows[64][Depth], across[Depth][Columns];  // b transposed: the inner loop runs over columns
    for (int i = 0; i < 64; ++i)
      for (int k = 0; k < Depth; ++k) rows[i][k] = to_float(a.at[warpgroup * 64 + i][k]);
    for (int j = 0; j < Columns; ++j)
      for (int k = 0; k < Depth; ++k) across[k][j] = across_at(b, k, j);
    if (fresh) std::fill_n(acc.value[0], 64 * Columns, 0.f);
    multiply_add(acc.value, rows, across);
  });
}
inline void mma_commit() {}
template <int Pending>
void mma_wait() {
  for (; multiplies.size() > Pending; multiplies.pop_front()) multiplies.front()();
}

inline void warpgroup_sync(int) {}
inline bool elected() { return true; }

}  // namespace mk
