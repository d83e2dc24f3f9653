// What libmkrt needs of a device; two implementations: the host (device_host.cc) and CUDA (device_cuda.cc).
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "heap.h"

namespace mk::rt {

using DeviceId = std::array<uint8_t, 16>;  // the same in every process; zeros on the host

// Copies that run one after the other, beside everything else on the device. One thread uses it. Its end waits for them.
class Copies {
 public:
  virtual ~Copies() = default;
  virtual void start(void* to, const void* from, uint64_t bytes) = 0;  // any direction; host memory must be pinned
  // The same, but not counted: the next start or words, which is complete later, stands for it.
  virtual void ahead(void* to, const void* from, uint64_t bytes) = 0;
  // After all that was started before: sets count words of a heap, which kernels acquire. Counts as one copy.
  virtual void words(uint64_t* to, uint32_t count, uint64_t value) = 0;
  virtual uint64_t started() = 0;                                      // how many, from the beginning
  virtual uint64_t finished() = 0;                                     // how many of them are complete; never blocks
};

class Device {
 public:
  virtual ~Device() = default;

  virtual std::string name() const = 0;
  virtual DeviceId id() const = 0;
  virtual std::string pci() const = 0;  // as /sys/bus/pci/devices names it, 0000:1b:00.0; empty where there is none
  virtual bool reaches(const DeviceId& peer) const = 0;  // can this device address that one's memory?

  virtual std::shared_ptr<Memory> create(uint64_t bytes) = 0;                // zeroed
  virtual std::shared_ptr<Memory> import(const Fd& fd, uint64_t bytes) = 0;  // from Memory::share of another process

  // Control, read and written beside running kernels. Callable from any thread; at most kPeek bytes.
  static constexpr uint64_t kPeek = 512;
  virtual uint32_t load(const uint32_t* word) = 0;         // acquire
  virtual void store(uint32_t* word, uint32_t value) = 0;  // release
  virtual bool claim(uint32_t* word) = 0;                  // 0 -> 1; false where it was not 0
  virtual void peek(void* host, const void* heap, uint64_t bytes) = 0;
  virtual void poke(void* heap, const void* host, uint64_t bytes) = 0;

  virtual void copy(void* to, const void* from, uint64_t bytes) = 0;  // any direction; returns when done
  virtual std::unique_ptr<Copies> copies() = 0;

  virtual uint32_t* health() const = 0;
  virtual uint32_t* health_device() const = 0;

  virtual void* alloc(uint64_t bytes) = 0;
  virtual void free(void* ptr) = 0;
  virtual void* pinned(uint64_t bytes, void** device_address) = 0;  // zeroed host memory, mapped to the device
  virtual void pinned_free(void* ptr) = 0;
  virtual void* stream_new() = 0;
  virtual void stream_sync(void* stream) = 0;
  virtual void stream_free(void* stream) = 0;
  virtual void* mark(void* stream) = 0;
  virtual double elapsed(void* from, void* to) = 0;  // milliseconds; frees both
  virtual void idle() noexcept = 0;                  // waits for all work; a broken device counts as idle
};

std::unique_ptr<Device> host_device();
std::unique_ptr<Device> cuda_device(int ordinal);

}  // namespace mk::rt
