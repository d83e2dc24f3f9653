// Who owns which rows, and in which order tiles are visited: own shard first, then in ring order (protocol rule 8).
#pragma once
#include <cstdint>

namespace mk {

// M rows over World ranks as evenly as they go: the first M % World ranks have one more.
template <int World>
struct Shards {
  int m;
  MK_BOTH int rows(int rank) const { return m / World + (rank < m % World ? 1 : 0); }
  MK_BOTH int64_t begin(int rank) const {
    const int more = m % World;
    return int64_t(rank) * (m / World) + (rank < more ? rank : more);
  }
};

MK_BOTH constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }

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

// The output tiles of one CTA. step 0 is the own shard; step s is the shard of rank + s.
template <int World, int TileRows, int TileColumns>
struct Tiles {
  int step = 0, shard, row = 0, column = 0;

  MK_DEVICE Tiles(Shards<World> shards, int rank, int group, int cta, int ctas)
      : shard(rank), shards_(shards), group_(group), stride_(ctas), item_(cta - ctas) {}

  // Moves to this CTA's next tile; false when there is none.
  MK_DEVICE bool next() {
    item_ += stride_;
    for (; step < World; ++step) {
      const int rows = ceil_div(shards_.rows(shard), TileRows), count = rows * TileColumns;
      if (item_ < count) {
        const Grouped at(item_, rows, TileColumns, group_);
        row = at.row;
        column = at.line;
        return true;
      }
      item_ -= count;
      shard = shard + 1 == World ? 0 : shard + 1;
    }
    return false;
  }

 private:
  Shards<World> shards_;
  int group_, stride_, item_;
};

}  // namespace mk
