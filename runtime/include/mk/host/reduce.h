// Partial sums of other ranks, on the CPU: rows of T, as to_tile left them.
#pragma once

namespace mk {

// acc = the sum over all ranks, in their order, of acc where the rank is `own`, else of the 64 x Columns at from(rank), which
// put has stored. Columns from `most` on are left alone.
template <int World, class T, int Columns, class From>
void sum_in_order(Acc<Columns>& acc, int own, int most, const From& from) {
  const int count = std::min(Columns, most);
  for (int i = 0; i < 64; ++i) {
    float sum[Columns] = {};
    for (int rank = 0; rank < World; ++rank) {
      if (rank == own) {
        add(sum, acc.value[i], count);
        continue;
      }
      T theirs[Columns];
      copy_bytes(theirs, from(rank) + i * Columns, count * sizeof(T));
      add(sum, theirs, count);
    }
    std::copy_n(sum, count, acc.value[i]);
  }
}

// Adds to acc the 64 x Columns at `from`, which store_add has summed up, and leaves zeros there. Columns from `most` on are left
// alone.
template <class T, int Columns>
void take(Acc<Columns>& acc, T* from, int most) {
  const int count = std::min(Columns, most);
  for (int i = 0; i < 64; ++i) {
    T theirs[Columns];
    copy_bytes(theirs, from + i * Columns, count * sizeof(T));
    add(acc.value[i], theirs, count);
    const T zeros[Columns] = {};
    copy_bytes(from + i * Columns, zeros, count * sizeof(T));
  }
}

}  // namespace mk
