// What kernels that multiply share: the stages between a producer and the consumers, and the way out of an accumulator.
//
// Shared memory of such a CTA has a[Stages] and b[Stages], tiles of the operands, and the barriers full[Stages], which loads
// complete, and empty[Stages], at which every consumer arrives.
#pragma once

namespace mk {

// Producer lane: the barrier of the next stage, which all consumers have given back, and to which loads shall now bring so
// many bytes.
template <class Shared, int Stages>
MK_DEVICE Barrier& next_stage(Shared& s, const Ring<Stages>& ring, int bytes) {
  s.empty[ring.stage].wait(ring.parity ^ 1);
  s.full[ring.stage].expect(bytes);
  return s.full[ring.stage];
}

// Consumer warpgroup `unit`: acc = the product of `depth` stages, of its 64 rows; where `add`, acc is added to, and there may be
// no stages.
template <class Shared, int Stages, int Columns>
MK_DEVICE void multiply(Acc<Columns>& acc, Shared& s, Ring<Stages>& ring, int depth, int unit, bool add = false) {
  for (int k = 0; k < depth; ++k, ring.next()) {
    s.full[ring.stage].wait(ring.parity);
    mma(acc, s.a[ring.stage], unit, s.b[ring.stage], !add && k == 0);
    mma_commit();
    if (k > 0) {
      mma_wait<1>();
      if (elected()) s.empty[ring.previous()].arrive();
    }
  }
  mma_wait<0>();
  if (elected() && (!add || depth > 0)) s.empty[ring.previous()].arrive();
}

// (row, column) of a view, as where an accumulator goes. Other such places store each tile kStores times.
struct Spot {
  static constexpr int kStores = 1;
  const Tensor& view;
  int row, column;
  template <class TileT>
  MK_DEVICE void store(const TileT& tile, int j) const { mk::store(view, tile, row, column + j); }
};

// The same in memory that another role or rank reads, stored there or added to what is there; nothing is once somebody has given
// up, since the reader may then still be in the launch before.
template <class Waiter, bool Add = false>
struct SentSpot {
  static constexpr int kStores = 1;
  const Waiter& waiter;
  const Spot spot;
  template <class TileT>
  MK_DEVICE void store(const TileT& tile, int j) const {
    if (waiter.gave_up()) return;
    if constexpr (Add) store_add(spot.view, tile, spot.row, spot.column + j);
    else spot.store(tile, j);
  }
};

// Consumer warpgroup: starts to store an accumulator somewhere, through its tiles in turn. Columns from `most` on may be left
// out.
template <class Place, class TileT, int Count, int Columns>
MK_DEVICE void put(const Place& place, TileT (&tiles)[Count], Ring<Count>& ring, const Acc<Columns>& acc, int unit, int most = Columns) {
  MK_UNROLL
  for (int j = 0; j < Columns; j += TileT::kColumns) {
    if (j >= most) break;
    TileT& tile = tiles[ring.stage];
    if (elected()) store_wait_read<(Count - 1) * Place::kStores>();
    warpgroup_sync(unit);
    to_tile(tile, acc, j);
    fence_async_shared();
    warpgroup_sync(unit);
    if (elected()) place.store(tile, j);
    ring.next();
  }
}

}  // namespace mk
