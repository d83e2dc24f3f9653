#include "proxy.h"

#include <chrono>

#include "../fail.h"
#include "cpus.h"

namespace mk::rt::net {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kLargestWrite = 1 << 20;  // bytes of neighbouring chunks that become one write: 20 us at 400 Gb/s
constexpr uint32_t kMostWords = 64;
constexpr auto kSpin = std::chrono::milliseconds(20);  // after the last command, before the thread sleeps between looks
constexpr auto kNap = std::chrono::microseconds(50);

}  // namespace

Proxy::Proxy(std::unique_ptr<Backend> backend, std::vector<Source> sources, World world)
    : backend_(std::move(backend)), sources_(std::move(sources)), world_(std::move(world)), taken_(sources_.size()) {}

void Proxy::start() {
  thread_ = std::thread([this] { run(); });
}

void Proxy::drain() {
  if (!thread_.joinable()) return;
  draining_ = true;
  drained_.wait(false);
}

Proxy::~Proxy() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

void Proxy::run() noexcept {
  pin_thread(world_.cpus);
  try {
    serve();
  } catch (const Fail& f) {
    world_.failed(f.text);
  } catch (const std::exception& e) {
    world_.failed(e.what());
  }
  drained_ = true;
  drained_.notify_all();
}

void Proxy::serve() {
  Clock::time_point last = Clock::now(), closing{};
  while (!stop_) {
    if (std::atomic_ref(*const_cast<uint32_t*>(world_.health)).load(std::memory_order_acquire)) return world_.ended();
    progress_ = take();
    backend_->poll(*this);
    const Clock::time_point now = Clock::now();
    if (progress_) last = now;
    if (draining_ && !drained_) {
      if (closing == Clock::time_point{}) closing = now;
      if (!progress_ && idle() && backend_->settled()) {
        drained_ = true;
        drained_.notify_all();
      } else if (now - closing > std::chrono::milliseconds(world_.timeout_ms)) {
        fail(MK_EABORTED, say("%zu writes to other nodes were not complete %lu ms after the world was closed", writing_.size(), world_.timeout_ms));
      }
    }
    if (progress_) continue;
    if (world_.patient || now - last > kSpin) std::this_thread::sleep_for(idle() ? kNap : kNap / 10);
  }
}

// Posts what the kernels have pushed; true if there was anything.
bool Proxy::take() {
  bool any = false;
  if (held_) {
    if (!post()) return false;
    held_ = false;
    any = true;
  }
  for (size_t k = 0; k < sources_.size() && !held_; ++k) any |= take(k);
  return any;
}

// Takes what has come of one kernel and makes one write of commands that go on where the last one ended.
bool Proxy::take(size_t kernel) {
  Fifo& fifo = *sources_[kernel].fifo;
  const uint32_t before = taken_[kernel];
  uint32_t& taken = taken_[kernel];
  while (taken - before < kFifoSlots) {
    Command& slot = fifo.command[taken % kFifoSlots];
    if (std::atomic_ref(slot.ticket).load(std::memory_order_acquire) != taken + 1) break;
    check(slot, sources_[kernel]);
    const uint32_t word = sources_[kernel].first_word + slot.slot;
    const bool joins = taken != before && slot.bytes > 0 && next_.bytes > 0 && slot.node == uint32_t(next_.node) && slot.value == next_.value &&
                       slot.from == next_.from + next_.bytes && slot.to == next_.to + next_.bytes && word == next_.slot + next_.words &&
                       next_.bytes + slot.bytes <= kLargestWrite && next_.words + slot.words <= kMostWords;
    if (!joins && taken != before) break;  // the last one is whole
    if (joins) {
      next_.bytes += slot.bytes;
      next_.words += slot.words;
    } else {
      next_ = {int(slot.node), slot.from, slot.to, slot.bytes, word, slot.words, slot.value, ++ids_};
    }
    ++taken;
  }
  if (taken == before) return false;
  std::atomic_ref(fifo.taken).store(taken, std::memory_order_release);
  writing_.push_back({next_.id, kernel, taken, false});
  held_ = !post();
  return true;
}

bool Proxy::post() {
  if (!world_.left || !world_.left->has(next_.node)) return backend_->post(next_);
  done(next_.id);
  return true;
}

void Proxy::check(const Command& c, const Source& source) const {
  const auto outside = [&](uint64_t at) { return c.bytes > world_.heap_bytes || at > world_.heap_bytes - c.bytes; };
  if (c.node >= world_.nodes || c.node == world_.node)
    fail(MK_ESYSTEM, say("a kernel on node %u pushed a command for node %u of %u; this is a defect of mkgen", world_.node, c.node, world_.nodes));
  if (outside(c.from) || outside(c.to) || c.words < 1 || c.words > source.words || c.slot > source.words - c.words)
    fail(MK_ESYSTEM, say("a kernel pushed a command outside the heap: %lu bytes from %lu to %lu, %u words from %u of %u; this is a defect of mkgen",
                         c.bytes, c.from, c.to, c.words, c.slot, source.words));
}

void Proxy::done(uint64_t id) {
  progress_ = true;
  if (writing_.empty() || id < writing_.front().id) return;  // told twice
  writing_[size_t(id - writing_.front().id)].done = true;
  for (; !writing_.empty() && writing_.front().done; writing_.pop_front())
    std::atomic_ref(sources_[writing_.front().kernel].fifo->done).store(writing_.front().ticket, std::memory_order_release);
}

// The larger of two values stays: the network may bring them in any order.
void Proxy::arrived(uint32_t slot, uint32_t words, uint64_t value) {
  progress_ = true;
  for (uint32_t i = 0; i < words; ++i) {
    std::atomic_ref word(world_.inbox[slot + i]);
    uint64_t seen = word.load(std::memory_order_relaxed);
    while (int32_t(uint32_t(value >> 32) - uint32_t(seen >> 32)) > 0 && !word.compare_exchange_weak(seen, value, std::memory_order_release)) {
    }
  }
}

}  // namespace mk::rt::net
