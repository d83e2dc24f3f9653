// One rank's symmetric heap as this process maps it. Ranks that are threads of one process share the mapping; the last
// owner unmaps it, because a peer may still write after the rank itself has closed.
#pragma once
#include <cstddef>
#include <cstdint>

#include "fd.h"

namespace mk::rt {

class Memory {
 public:
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  virtual ~Memory() = default;

  std::byte* base() const { return base_; }
  uint64_t bytes() const { return bytes_; }

  virtual Fd share() const = 0;        // a descriptor from which another process maps the same memory
  virtual Fd dmabuf() const { return Fd(); }  // for a NIC; none where memory or driver cannot give one
  virtual void allow(int device) = 0;  // lets that device of this process read and write; repeating it is free

 protected:
  std::byte* base_ = nullptr;
  uint64_t bytes_ = 0;
};

}  // namespace mk::rt
