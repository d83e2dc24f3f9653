// Symmetric heap of the host target.
#pragma once
#include "heap.h"

namespace mk::rt {

class MemfdMemory final : public Memory {
 public:
  explicit MemfdMemory(uint64_t bytes);       // new, zeroed
  MemfdMemory(const Fd& fd, uint64_t bytes);  // a peer's
  ~MemfdMemory() override;
  Fd share() const override;
  void allow(int) override {}

 private:
  void map(uint64_t bytes);
  Fd fd_;
};

}  // namespace mk::rt
