// Copies between "global" and "shared" memory. Each happens as late as it may: a load when its barrier is waited for; of a
// store, the tile is read at store_wait_read and memory is written at store_wait_complete. So a tile used before it is
// there or reused too early, and a signal given too early, show.
#pragma once
#include <algorithm>
#include <deque>
#include <functional>
#include <memory>

namespace mk {

template <class TileT>
void load(TileT& tile, const Tensor& view, int row, int column, Barrier& barrier) {
  barrier.bring([&tile, view, row, column] {
    using T = typename TileT::Element;
    for (int r = 0; r < TileT::kRows; ++r)
      for (int c = 0; c < TileT::kColumns; ++c) {
        const bool inside = row + r < view.rows && column + c < view.columns;
        tile.at[r][c] = inside ? static_cast<const T*>(view.p)[int64_t(row + r) * view.stride + column + c] : T{};
      }
    return TileT::kBytes;
  });
}

template <class T, int Rows, int Columns>
void load(Panels<T, Rows, Columns>& tile, const Tensor& view, int row, int column, Barrier& barrier) {
  for (int i = 0; i < Columns / 64; ++i) load(tile.panel[i], view, row, column + i * 64, barrier);
}

struct Stores {  // of one thread
  struct One { std::function<void()> read, write; };
  std::deque<One> unread, unwritten;
  void read_until(size_t pending) {
    for (; unread.size() > pending; unread.pop_front()) {
      unread.front().read();
      unwritten.push_back(std::move(unread.front()));
    }
  }
};
inline thread_local Stores stores;

template <class TileT>
void store(const Tensor& view, const TileT& tile, int row, int column) {
  if (tile.unfenced.load(std::memory_order_relaxed)) broken("an asynchronous store of a tile whose writes were not fenced");
  auto copy = std::make_shared<std::unique_ptr<TileT>>();
  stores.unread.push_back(
      {[&tile, copy] {
         *copy = std::make_unique<TileT>();
         std::memcpy((*copy)->at, tile.at, sizeof tile.at);
       },
       [view, copy, row, column] {
         using T = typename TileT::Element;
         const int64_t columns = std::min<int64_t>(TileT::kColumns, view.columns - column);
         for (int r = 0; columns > 0 && r < TileT::kRows && row + r < view.rows; ++r)
           std::memcpy(static_cast<T*>(view.p) + int64_t(row + r) * view.stride + column, (*copy)->at[r], size_t(columns) * sizeof(T));
       }});
}

template <int Pending>
void store_wait_read() { stores.read_until(Pending); }

template <int Pending>
void store_wait_complete() {
  while (stores.unwritten.size() + stores.unread.size() > Pending) {
    if (stores.unwritten.empty()) stores.read_until(stores.unread.size() - 1);
    stores.unwritten.front().write();
    stores.unwritten.pop_front();
  }
}

inline thread_local std::deque<std::atomic<bool>*> unfenced_tiles;  // written by this thread

inline void fence_async_shared() {
  for (auto* tile : unfenced_tiles) tile->store(false, std::memory_order_relaxed);
  unfenced_tiles.clear();
}
inline void fence_async_global() {}

}  // namespace mk
