// Symmetric heap on a GPU: CUDA virtual memory management, shared by POSIX file descriptor. Never multicast.
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "context.h"
#include "heap.h"

namespace mk::rt::cuda {

class VmmMemory final : public Memory {
 public:
  VmmMemory(std::shared_ptr<Primary> owner, uint64_t bytes);                 // new, zeroed
  VmmMemory(std::shared_ptr<Primary> reader, const Fd& fd, uint64_t bytes);  // a peer's, for reader's device
  ~VmmMemory() override;
  Fd share() const override;
  Fd dmabuf() const override;
  void allow(int device) override;

 private:
  void map(size_t granularity);
  void release() noexcept;

  std::shared_ptr<Primary> primary_;
  Handle handle_ = 0;
  bool held_ = false, mapped_ = false;
  std::mutex mutex_;  // two ranks may call allow at once
  std::vector<int> allowed_;
};

// What bytes take as one VMM allocation on that device.
uint64_t rounded(const Primary& primary, uint64_t bytes);

}  // namespace mk::rt::cuda
