// Copies between global and shared memory by TMA. Issued by one thread; a store is tracked by the thread that issued it.
#pragma once

namespace mk {

// Fills the tile from (row, column) of the view; the barrier receives its bytes, also for what lies outside.
template <class TileT>
MK_DEVICE void load(TileT& tile, const Tensor& view, int row, int column, Barrier& barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(
          shared_address(&tile)), "l"(&view), "r"(barrier.address()), "r"(column), "r"(row) : "memory");
}

template <class T, int Rows, int Columns>
MK_DEVICE void load(Panels<T, Rows, Columns>& tile, const Tensor& view, int row, int column, Barrier& barrier) {
#pragma unroll
  for (int i = 0; i < Columns / 64; ++i) load(tile.panel[i], view, row, column + i * 64, barrier);
}

// Starts writing the tile to (row, column) of the view.
template <class TileT>
MK_DEVICE void store(const Tensor& view, const TileT& tile, int row, int column) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&view),
               "r"(shared_address(&tile)), "r"(column), "r"(row) : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Starts adding the tile to what is there, in the type of its elements. Each addition is atomic where the memory is (PTX ISA,
// cp.reduce.async.bulk: relaxed, gpu scope; L2 of the GPU that has the memory adds, for peers over NVLink too).
template <class TileT>
MK_DEVICE void store_add(const Tensor& view, const TileT& tile, int row, int column) {
  asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&view),
               "r"(shared_address(&tile)), "r"(column), "r"(row) : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Until all but the last `Pending` stores of this thread have read their tiles: those tiles may be overwritten.
template <int Pending>
MK_DEVICE void store_wait_read() { asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Pending) : "memory"); }

// Until all but the last `Pending` stores of this thread are written; a signal given after this announces them.
template <int Pending>
MK_DEVICE void store_wait_complete() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(Pending) : "memory");
  asm volatile("fence.proxy.async.global;" ::: "memory");
}

// Between ordinary writes of this thread to shared memory and a store or multiply that reads them.
MK_DEVICE void fence_async_shared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
// Between an acquired signal and loads of what it announces.
MK_DEVICE void fence_async_global() { asm volatile("fence.proxy.async.global;" ::: "memory"); }

}  // namespace mk
