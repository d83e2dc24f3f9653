// Flags and counters as atomics.
#pragma once
#include <chrono>
#include <random>
#include <thread>

namespace mk {

// Shakes the order of threads at every signal.
inline void jitter() {
  thread_local std::minstd_rand random{std::random_device{}()};
  if (random() % 8 == 0) std::this_thread::yield();
}

template <class Word>
Word load_acquire(const Word* p) { return std::atomic_ref<Word>(*const_cast<Word*>(p)).load(std::memory_order_acquire); }
inline uint32_t load_relaxed(const uint32_t* p) {
  return std::atomic_ref<uint32_t>(*const_cast<uint32_t*>(p)).load(std::memory_order_relaxed);
}
inline uint32_t look(const uint32_t* p) { return load_acquire(p); }
inline void fence_looked() {}
template <class Word>
void signal(Word* p, Word v) {
  jitter();
  std::atomic_ref<Word>(*p).store(v, std::memory_order_release);
}
inline uint32_t add_device(uint32_t* p, uint32_t v) { return std::atomic_ref<uint32_t>(*p).fetch_add(v, std::memory_order_acq_rel); }
inline bool claim(uint32_t* p) {
  uint32_t none = 0;
  return std::atomic_ref<uint32_t>(*p).compare_exchange_strong(none, 1, std::memory_order_acq_rel);
}
inline uint64_t now_ns() {
  return uint64_t(std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
}
inline void pause() { std::this_thread::yield(); }

}  // namespace mk
