// Who owns which rows, and in which order tiles are visited: own shard first, then in ring order (protocol rule 8).
//
// A Shards says how many rows of A each rank has: Even, or Given by each launch.
#pragma once
#include <cstdint>

namespace mk {

// M rows over World ranks as evenly as they go: the first M % World ranks have one more.
template <int World>
struct EvenShards {
  static constexpr int kWorld = World;
  static constexpr Wanted kAgreement = Wanted::kSameM;  // what two ranks with different tags have not done
  int m = 0;
  bool operator==(const EvenShards&) const = default;
  MK_BOTH uint32_t tag() const { return uint32_t(m); }
  MK_BOTH int rows(int rank) const { return m / World + (rank < m % World ? 1 : 0); }
  MK_BOTH int64_t begin(int rank) const {
    const int more = m % World;
    return int64_t(rank) * (m / World) + (rank < more ? rank : more);
  }
};

// M rows as a launch gives them, with the same numbers on all ranks.
template <int World>
struct GivenShards {
  static constexpr int kWorld = World;
  static constexpr Wanted kAgreement = Wanted::kSameRows;
  int m = 0;
  uint32_t hash = 0;  // of count: of two that differ, one in 2^32 is taken for the same
  int count[World] = {};
  bool operator==(const GivenShards&) const = default;
  MK_BOTH uint32_t tag() const { return hash; }
  MK_BOTH int rows(int rank) const { return count[rank]; }
  int64_t begin(int rank) const {
    int64_t first = 0;
    for (int r = 0; r < rank; ++r) first += count[r];
    return first;
  }
  void append(int rank, int rows) {
    count[rank] = rows;
    m += rows;
    hash = uint32_t((uint64_t(hash) + uint64_t(rows) + 1) * 0x9e3779b97f4a7c15 >> 32);  // Fibonacci hashing
  }
};

MK_BOTH constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }
MK_BOTH constexpr int smaller(int a, int b) { return a < b ? a : b; }

// Rows of a shard are visited in groups that advance together, column by column, so that one wave of CTAs shares the
// rows of A it reads and the chunks of a group are wanted at about the same time. Lines of `Length` items:
// item -> (row, line) with the row running fastest inside a group of `group` rows.
struct Grouped {
  int row, line;
  MK_DEVICE Grouped(int item, int rows, int lines, int group) {
    const int whole = group * lines, first = item / whole * group, inside = item % whole;
    const int height = group < rows - first ? group : rows - first;
    row = first + inside % height;
    line = inside / height;
  }
};

// The rank whose shard another rank visits at a step: its own, those of its node in ring order, then node by node in ring
// order, on each first that of the same index, which comes over the network and is passed on from there. With `first` 1, from
// the next node on and on each from the next index on, so the own one last.
template <int World, int Nodes>
MK_BOTH constexpr int shard_at(int rank, int step, int first = 0) {
  constexpr int local = World / Nodes;
  const int node = (rank / local + step / local + first) % Nodes, index = (rank % local + step % local + first) % local;
  return node * local + index;
}

// The output tiles of one CTA: at each step those of one shard, as shard_at says. With a
// Band, that many rows of tiles of every shard come first, then the next.
template <class Shards, int TileRows, int TileColumns, int Nodes = 1, int First = 0, int Band = 0>
struct Tiles {
  static constexpr int kLocal = Shards::kWorld / Nodes;
  int step = 0, shard, row = 0, column = 0;

  MK_DEVICE Tiles(const Shards& shards, int rank, int group, int cta, int ctas)
      : shard(shard_at<Shards::kWorld, Nodes>(rank, 0, First)), shards_(shards), rank_(rank), group_(group), stride_(ctas), item_(cta - ctas) {}

  // How many nodes on the shard's owner is, and how many ranks on in the ring of a node.
  MK_DEVICE int away() const { return (step / kLocal + First) % Nodes; }
  MK_DEVICE int beside() const { return (step % kLocal + First) % kLocal; }

  // Moves to this CTA's next tile; false when there is none.
  MK_DEVICE bool next() {
    item_ += stride_;
    for (;;) {
      for (; step < Shards::kWorld; ++step) {
        const int rows = rows_of(shard), count = rows * TileColumns;
        if (item_ < count) {
          const Grouped at(item_, rows, TileColumns, group_);
          row = first_ + at.row;
          column = at.line;
          return true;
        }
        item_ -= count;
        shard = shard_at<Shards::kWorld, Nodes>(rank_, step + 1, First);
      }
      if (Band == 0 || (first_ += Band) >= ceil_div(shards_.rows(0), TileRows)) return false;
      step = 0;
      shard = shard_at<Shards::kWorld, Nodes>(rank_, 0, First);
    }
  }

 private:
  static_assert(Band == 0 || Shards::kAgreement == Wanted::kSameM, "rank 0 has the largest shard");
  MK_DEVICE int rows_of(int rank) const {  // of tiles, in this band
    const int rows = ceil_div(shards_.rows(rank), TileRows) - first_;
    return Band == 0 || rows < Band ? (rows > 0 ? rows : 0) : Band;
  }

  const Shards& shards_;
  int rank_, group_, stride_, item_, first_ = 0;
};

}  // namespace mk
