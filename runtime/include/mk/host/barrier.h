// The mbarrier contract with a mutex: a phase ends when the arrivals and the announced bytes are in.
#pragma once
#include <condition_variable>
#include <mutex>

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
    changed_.wait(lock, [&] { return (phase_ & 1) != parity; });
  }
  void complete(int bytes) {  // by a load
    std::lock_guard<std::mutex> lock(mutex_);
    bytes_ -= bytes;
    end_phase();
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
  int count_ = 0, pending_ = 0, bytes_ = 0, phase_ = 0;
};

}  // namespace mk
