// Multiply with float loops. One thread stands for a warpgroup. A multiply happens when it is waited for, so a stage that is
// given back too early shows.
#pragma once

namespace mk {

template <int Columns>
struct Acc { float value[64][Columns]; };

template <int Columns>
void clear(Acc<Columns>& acc) { std::fill_n(acc.value[0], 64 * Columns, 0.f); }

inline thread_local std::deque<std::function<void()>> multiplies;

// Element [k][j] of an operand that lies as [N, K], and of one that lies as [K, N]; and copies of both.
template <class T, int Columns, int Depth>
[[gnu::always_inline]] inline float across_at(const Tile<T, Columns, Depth>& b, int k, int j) { return to_float(b.at[j][k]); }
template <class T, int Depth, int Columns>
[[gnu::always_inline]] inline float across_at(const Panels<T, Depth, Columns>& b, int k, int j) { return to_float(b.panel[j / 64].at[k][j % 64]); }
template <class T, int Rows, int Columns>
void copy_tile(Tile<T, Rows, Columns>& to, const Tile<T, Rows, Columns>& from) { copy_bytes(to.at, from.at, sizeof to.at); }
template <class T, int Rows, int Columns>
void copy_tile(Panels<T, Rows, Columns>& to, const Panels<T, Rows, Columns>& from) {
  for (int i = 0; i < to.kPanels; ++i) copy_tile(to.panel[i], from.panel[i]);
}

// Works on copies that no other thread sees, so sanitizers, under which it would take most of the time, need not look.
template <class T, int Depth, class BTile, int Columns>
[[gnu::no_sanitize("thread", "address", "undefined")]] void multiply_add(float (&out)[64][Columns], const Tile<T, 64, Depth>& a, const BTile& b) {
  float across[Depth][Columns];  // b transposed: the inner loop runs over columns
  for (int j = 0; j < Columns; ++j)
    for (int k = 0; k < Depth; ++k) across[k][j] = across_at(b, k, j);
  for (int i = 0; i < 64; ++i)
    for (int k = 0; k < Depth; ++k) {
      const float f = to_float(a.at[i][k]);
      for (int j = 0; j < Columns; ++j) out[i][j] += f * across[k][j];
    }
}

template <class T, int Rows, int Columns, int Depth, class BTile>
void mma(Acc<Columns>& acc, const Tile<T, Rows, Depth>& a, int warpgroup, const BTile& b, bool fresh) {
  multiplies.push_back([&acc, &a, &b, warpgroup, fresh] {
    Tile<T, 64, Depth> own_a;
    BTile own_b;
    copy_bytes(own_a.at, a.at[warpgroup * 64], sizeof own_a.at);
    copy_tile(own_b, b);
    if (fresh) clear(acc);
    multiply_add(acc.value, own_a, own_b);
  });
}
inline void mma_commit() {}
template <int Pending>
void mma_wait() {
  for (; multiplies.size() > Pending; multiplies.pop_front()) multiplies.front()();
}

inline void warpgroup_sync(int) {}
inline bool elected() { return true; }
inline void warp_sync() {}
inline bool leads_warp() { return true; }

}  // namespace mk
