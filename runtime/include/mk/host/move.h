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
    static constexpr T zeros[TileT::kColumns] = {};
    for (int r = 0; r < view.height; ++r) {
      const int inside = row + r < view.rows ? int(std::clamp<int64_t>(view.columns - column, 0, TileT::kColumns)) : 0;
      if (inside) copy_bytes(tile.at[r], static_cast<const T*>(view.p) + int64_t(row + r) * view.stride + column, inside * sizeof(T));
      if (inside < TileT::kColumns) copy_bytes(tile.at[r] + inside, zeros, (TileT::kColumns - inside) * sizeof(T));
    }
    return TileT::kBytes / TileT::kRows * view.height;
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

// Puts elements somewhere, or adds them to what is there, in their type.
struct Put {
  template <class T>
  static void to(T* place, const T* values, int64_t count) { copy_bytes(place, values, count * sizeof(T)); }
};
struct Add {
  template <class T>
  static void to(T* place, const T* values, int64_t count) {
    for (int64_t i = 0; i < count; ++i) one(place[i], values[i]);
  }

 private:
  static void one(fp32& place, fp32 value) { std::atomic_ref<fp32>(place).fetch_add(value, std::memory_order_relaxed); }
  template <class T>
  static void one(T& place, T value) {
    std::atomic_ref<uint16_t> bits(place.bits);
    uint16_t old = bits.load(std::memory_order_relaxed);
    while (!bits.compare_exchange_weak(old, rounded<T>(to_float(T{old}) + to_float(value)).bits, std::memory_order_relaxed)) {}
  }
};

template <class How, class TileT>
void store_as(const Tensor& view, const TileT& tile, int row, int column) {
  if (tile.unfenced.load(std::memory_order_relaxed)) broken("an asynchronous store of a tile whose writes were not fenced");
  auto copy = std::make_shared<std::unique_ptr<TileT>>();
  stores.unread.push_back(
      {[&tile, copy] {
         *copy = std::make_unique<TileT>();
         copy_bytes((*copy)->at, tile.at, sizeof tile.at);
       },
       [view, copy, row, column] {
         using T = typename TileT::Element;
         const int64_t columns = std::min<int64_t>(TileT::kColumns, view.columns - column);
         for (int r = 0; columns > 0 && r < TileT::kRows && row + r < view.rows; ++r)
           How::to(static_cast<T*>(view.p) + int64_t(row + r) * view.stride + column, (*copy)->at[r], columns);
       }});
}
template <class TileT>
void store(const Tensor& view, const TileT& tile, int row, int column) { store_as<Put>(view, tile, row, column); }
template <class TileT>
void store_add(const Tensor& view, const TileT& tile, int row, int column) { store_as<Add>(view, tile, row, column); }

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
