// Memory that a NIC may read and write.
#pragma once
#include "../pinned.h"
#include "nic.h"

namespace mk::rt::net {

// Pinned host memory, zeroed.
class HostRegion {
 public:
  HostRegion(const Nic& nic, Device& device, size_t bytes);
  std::byte* base() const { return memory_.host(); }
  uint64_t address(const void* at) const { return reinterpret_cast<uint64_t>(at); }
  uint32_t lkey() const { return mr_->lkey; }
  uint32_t rkey() const { return mr_->rkey; }

 private:
  Pinned memory_;
  Owned<verbs::Mr> mr_;  // goes first
};

// A rank's symmetric heap. Ordering is never relaxed: a word behind data must not be seen before it.
struct HeapRegion {
  Owned<verbs::Mr> mr;  // none: the NIC cannot reach this memory
  std::string how;      // dmabuf, ibv_reg_mr, or why neither
};
HeapRegion register_heap(const Nic& nic, Memory& heap);

}  // namespace mk::rt::net
