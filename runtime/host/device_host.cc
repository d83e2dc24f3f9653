// The host as a device: memory is memory, streams are always drained, marks are clock readings.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "device.h"
#include "fail.h"
#include "heap_memfd.h"

namespace mk::rt {
namespace {

using Clock = std::chrono::steady_clock;

class HostCopies final : public Copies {
 public:
  void start(void* to, const void* from, uint64_t bytes) override {
    ahead(to, from, bytes);
    ++started_;
  }
  void ahead(void* to, const void* from, uint64_t bytes) override {
    if (bytes) std::memcpy(to, from, bytes);
  }
  void words(uint64_t* to, uint32_t count, uint64_t value) override {
    for (uint32_t i = 0; i < count; ++i) std::atomic_ref(to[i]).store(value, std::memory_order_release);
    ++started_;
  }
  uint64_t started() override { return started_; }
  uint64_t finished() override { return started_; }

 private:
  uint64_t started_ = 0;
};

class HostDevice final : public Device {
 public:
  std::string name() const override { return "the host"; }
  DeviceId id() const override { return {}; }
  std::string pci() const override { return ""; }
  bool reaches(const DeviceId&) const override { return true; }

  std::shared_ptr<Memory> create(uint64_t bytes) override { return std::make_shared<MemfdMemory>(bytes); }
  std::shared_ptr<Memory> import(const Fd& fd, uint64_t bytes) override {
    return std::make_shared<MemfdMemory>(fd, bytes);
  }

  uint32_t load(const uint32_t* word) override {
    return std::atomic_ref<uint32_t>(*const_cast<uint32_t*>(word)).load(std::memory_order_acquire);
  }
  void store(uint32_t* word, uint32_t value) override {
    std::atomic_ref<uint32_t>(*word).store(value, std::memory_order_release);
  }
  bool claim(uint32_t* word) override {
    uint32_t zero = 0;
    return std::atomic_ref<uint32_t>(*word).compare_exchange_strong(zero, 1);
  }
  void peek(void* host, const void* heap, uint64_t bytes) override { std::memcpy(host, heap, bytes); }
  void poke(void* heap, const void* host, uint64_t bytes) override { std::memcpy(heap, host, bytes); }
  void copy(void* to, const void* from, uint64_t bytes) override {
    if (bytes) std::memcpy(to, from, bytes);
  }
  std::unique_ptr<Copies> copies() override { return std::make_unique<HostCopies>(); }

  uint32_t* health() const override { return &health_; }
  uint32_t* health_device() const override { return &health_; }

  void* alloc(uint64_t bytes) override {
    void* at = std::aligned_alloc(256, bytes ? (bytes + 255) / 256 * 256 : 256);
    if (!at) fail(MK_ENOMEM, say("%lu bytes of host memory: none left", bytes));
    return at;
  }
  void free(void* ptr) override { std::free(ptr); }
  void* pinned(uint64_t bytes, void** device_address) override {
    void* at = alloc(bytes);
    std::memset(at, 0, bytes);
    return *device_address = at;
  }
  void pinned_free(void* ptr) override { std::free(ptr); }
  void* stream_new() override { return new char; }
  void stream_sync(void*) override {}
  void stream_free(void* stream) override { delete static_cast<char*>(stream); }
  void* mark(void*) override { return new Clock::time_point(Clock::now()); }
  double elapsed(void* from, void* to) override {
    std::unique_ptr<Clock::time_point> a(static_cast<Clock::time_point*>(from)), b(static_cast<Clock::time_point*>(to));
    return std::chrono::duration<double, std::milli>(*b - *a).count();
  }
  void idle() noexcept override {}

 private:
  alignas(128) mutable uint32_t health_ = 0;
};

}  // namespace

std::unique_ptr<Device> host_device() { return std::make_unique<HostDevice>(); }

}  // namespace mk::rt
