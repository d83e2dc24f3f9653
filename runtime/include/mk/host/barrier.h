// The mbarrier contract with a mutex: a phase ends when the arrivals and the announced bytes are in.
#pragma once
#include <condition_variable>
#include <functional>
#include <mutex>
#include <vector>

namespace mk {

class Barrier {
 public:
  void init(int arrivals) { count_ = pending_ = arrivals; }
  void expect(int bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    bytes_ += bytes;
    --pending_;
    end_phase();
  }
  void arrive() {
    std::lock_guard<std::mutex> lock(mutex_);
    --pending_;
    end_phase();
  }
  void wait(int parity) {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return !loads_.empty() || (phase_ & 1) != parity; });
      if (loads_.empty()) return;
      for (const auto& load : loads_) bytes_ -= load();
      loads_.clear();
      end_phase();
    }
  }
  // A load that arrives here, once somebody waits for it; it returns its bytes.
  void bring(std::function<int()> load) {
    std::lock_guard<std::mutex> lock(mutex_);
    loads_.push_back(std::move(load));
    changed_.notify_all();
  }

 private:
  void end_phase() {
    if (pending_ < 0) broken("more arrivals at a barrier than it was made for");
    if (pending_ > 0 || bytes_ != 0) return;
    pending_ = count_;
    ++phase_;
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::function<int()>> loads_;
  int count_ = 0, pending_ = 0, bytes_ = 0, phase_ = 0;
};

}  // namespace mk
