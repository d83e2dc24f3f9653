#include "copies_cuda.h"

#include <algorithm>
#include <atomic>
#include <deque>

namespace mk::rt::cuda {
namespace {

// Behind each copy the stream writes its number into pinned memory, so that asking is a load and no driver call.
class CudaCopies final : public Copies {
 public:
  explicit CudaCopies(std::shared_ptr<Primary> primary) : primary_(std::move(primary)) {
    Current current(*primary_);
    const Driver& d = driver();
    must(d.cuStreamCreate(&stream_, kStreamNonBlocking), "cuStreamCreate");
    void* word = nullptr;
    Result r = d.cuMemHostAlloc(&word, 256 + kRing * sizeof *ring_, kHostPortable | kHostMapped);
    word_ = static_cast<uint32_t*>(word);
    if (!r) {
      ring_ = reinterpret_cast<uint64_t*>(static_cast<std::byte*>(word) + 256);
      *word_ = 0;
      r = d.cuMemHostGetDevicePointer_v2(&word_device_, word, 0);
    }
    if (r) {
      if (word) d.cuMemFreeHost(word);
      d.cuStreamDestroy_v2(stream_);
      must(r, "pinned counter of copies");
    }
  }
  ~CudaCopies() override {
    const Driver& d = driver();
    if (d.cuCtxPushCurrent_v2(primary_->context())) return;  // the context is gone, and all this with it
    d.cuStreamSynchronize(stream_);
    d.cuStreamDestroy_v2(stream_);
    d.cuMemFreeHost(word_);
    Context popped;
    d.cuCtxPopCurrent_v2(&popped);
  }

  void start(void* to, const void* from, uint64_t bytes) override {
    Current current(*primary_);
    if (bytes) must(driver().cuMemcpyAsync(Ptr(to), Ptr(from), bytes, stream_), say("copy %lu bytes", bytes));
    must(driver().cuStreamWriteValue32_v2(stream_, word_device_, uint32_t(started_ + 1), 0), "count a copy");
    ++started_;
  }
  // From a pinned ring, whose part is free again once the copy from it is complete.
  void words(uint64_t* to, uint32_t count, uint64_t value) override {
    for (uint32_t left = count; left > 0;) {
      const uint32_t at = uint32_t(ring_next_ % kRing), here = std::min(left, kRing - at);
      while (!ring_used_.empty() && ring_next_ + here - ring_used_.front().begin > kRing)
        if (finished() >= ring_used_.front().copy) ring_used_.pop_front();
      std::fill_n(ring_ + at, here, value);
      start(to, ring_ + at, here * sizeof *to);
      ring_used_.push_back({ring_next_, started_});
      ring_next_ += here;
      to += here;
      left -= here;
    }
  }
  uint64_t started() override { return started_; }
  uint64_t finished() override {
    const uint32_t more = std::atomic_ref(*word_).load(std::memory_order_acquire) - uint32_t(finished_);
    finished_ += more;
    if (more || finished_ == started_) patience_ = 0;
    else if (++patience_ % kPatience == 0) ask();
    return finished_;
  }

 private:
  // A stream that failed counts no further: now and then the driver is asked.
  static constexpr uint32_t kPatience = 4096;
  void ask() {
    Current current(*primary_);
    if (Result r = driver().cuStreamQuery(stream_); r != kNotReady) must(r, "copies between device and host");
  }

  std::shared_ptr<Primary> primary_;
  Stream stream_ = nullptr;
  static constexpr uint32_t kRing = 4096;
  struct Used { uint64_t begin, copy; };
  uint32_t* word_ = nullptr;
  uint64_t* ring_ = nullptr;
  uint64_t ring_next_ = 0;
  std::deque<Used> ring_used_;
  Ptr word_device_ = 0;
  uint64_t started_ = 0, finished_ = 0;
  uint32_t patience_ = 0;
};

}  // namespace

std::unique_ptr<Copies> cuda_copies(std::shared_ptr<Primary> primary) {
  return std::make_unique<CudaCopies>(std::move(primary));
}

}  // namespace mk::rt::cuda
