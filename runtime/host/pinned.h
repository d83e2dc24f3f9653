// Pinned host memory that the device addresses too, zeroed. It goes before its Device.
#pragma once
#include <utility>

#include "device.h"
#include "fail.h"

namespace mk::rt {

class Pinned {
 public:
  Pinned(Device& device, uint64_t bytes) : device_(device) {
    void* mapped = nullptr;
    host_ = static_cast<std::byte*>(device.pinned(bytes, &mapped));
    there_ = static_cast<std::byte*>(mapped);
  }
  Pinned(Pinned&& other) noexcept
      : device_(other.device_), host_(std::exchange(other.host_, nullptr)), there_(other.there_) {}
  ~Pinned() {
    try {
      if (host_) device_.pinned_free(host_);
    } catch (const Fail&) {  // the device is gone, and this with it
    }
  }
  std::byte* host() const { return host_; }
  std::byte* there() const { return there_; }  // as the device addresses it

 private:
  Device& device_;
  std::byte *host_, *there_;
};

}  // namespace mk::rt
