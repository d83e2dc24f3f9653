#include "copies_cuda.h"

#include <algorithm>
#include <atomic>

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
    Result r = d.cuMemHostAlloc(&word, sizeof *word_, kHostPortable | kHostMapped);
    word_ = static_cast<uint32_t*>(word);
    if (!r) {
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
    copy(to, from, bytes);
    must(driver().cuStreamWriteValue32_v2(stream_, word_device_, uint32_t(started_ + 1), 0), "count a copy");
    ++started_;
  }
  void ahead(void* to, const void* from, uint64_t bytes) override {
    Current current(*primary_);
    copy(to, from, bytes);
  }
  // One call of the driver for the words and the number behind them: each call takes the CPU about 2 us.
  void words(uint64_t* to, uint32_t count, uint64_t value) override {
    Current current(*primary_);
    for (uint32_t left = count, here; left > 0; left -= here, to += here) {
      here = std::min(left, kMostMemOps - 1);
      for (uint32_t i = 0; i < here; ++i) ops_[i] = {kWrite64, Ptr(to + i), value, 0, 0, 0};
      const bool last = here == left;
      if (last) ops_[here] = {kWrite32, word_device_, uint32_t(started_ + 1), 0, 0, 0};
      must(driver().cuStreamBatchMemOp_v2(stream_, here + last, ops_, 0), say("set %u words", count));
    }
    ++started_;
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

  void copy(void* to, const void* from, uint64_t bytes) {
    if (bytes) must(driver().cuMemcpyAsync(Ptr(to), Ptr(from), bytes, stream_), say("copy %lu bytes", bytes));
  }

  std::shared_ptr<Primary> primary_;
  Stream stream_ = nullptr;
  MemOp ops_[kMostMemOps];
  uint32_t* word_ = nullptr;
  Ptr word_device_ = 0;
  uint64_t started_ = 0, finished_ = 0;
  uint32_t patience_ = 0;
};

}  // namespace

std::unique_ptr<Copies> cuda_copies(std::shared_ptr<Primary> primary) {
  return std::make_unique<CudaCopies>(std::move(primary));
}

}  // namespace mk::rt::cuda
