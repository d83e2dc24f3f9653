// From the accumulator to the tile that is stored.
#pragma once

namespace mk {

// Rounds columns column, column + 1, ... of the accumulator into the tile, which is not fenced by this.
template <class T, int TileColumns, int Columns>
void to_tile(Tile<T, 64, TileColumns>& tile, const Acc<Columns>& acc, int column) {
  for (int i = 0; i < 64; ++i)
    for (int j = 0; j < TileColumns; ++j) tile.at[i][j] = rounded<T>(acc.value[i][column + j]);
  tile.unfenced.store(true, std::memory_order_relaxed);
  unfenced_tiles.push_back(&tile.unfenced);
}

}  // namespace mk
