// A device whose memory no NIC and no CPU can reach: addresses of its heap cannot be loaded, stored or registered, only
// copied from and to. Copies end some time after they were started.
#pragma once
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <vector>

#include "device.h"
#include "fail.h"

namespace test {

class FarMemory final : public mk::rt::Memory {
 public:
  explicit FarMemory(uint64_t bytes) : near_(bytes) {
    bytes_ = bytes;
    void* at = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) mk::rt::fail_errno("mmap");
    base_ = static_cast<std::byte*>(at);
  }
  ~FarMemory() override { ::munmap(base_, bytes_); }
  mk::rt::Fd share() const override { return mk::rt::Fd(); }
  void allow(int) override {}
  std::byte* near() { return near_.data(); }
  void* near(const void* at) {  // what is not in the heap stays as it is
    const auto* p = static_cast<const std::byte*>(at);
    return p >= base_ && p < base_ + bytes_ ? near_.data() + (p - base_) : const_cast<std::byte*>(p);
  }

 private:
  std::vector<std::byte> near_;
};

class FarCopies final : public mk::rt::Copies {
 public:
  explicit FarCopies(FarMemory& memory) : memory_(memory) {}
  ~FarCopies() override {
    while (!under_way_.empty()) finished();
  }
  void start(void* to, const void* from, uint64_t bytes) override {
    under_way_.push_back({to, from, bytes, 0, true});
    ++started_;
  }
  void ahead(void* to, const void* from, uint64_t bytes) override { under_way_.push_back({to, from, bytes, 0, false}); }
  void words(uint64_t* to, uint32_t count, uint64_t value) override {
    under_way_.push_back({to, nullptr, count, value, true});
    ++started_;
  }
  uint64_t started() override { return started_; }
  uint64_t finished() override {
    if (++asked_ % 3 == 0 && !under_way_.empty()) {
      auto [to, from, bytes, value, counts] = under_way_.front();
      auto* words = static_cast<uint64_t*>(memory_.near(to));
      if (from && bytes) std::memcpy(memory_.near(to), memory_.near(from), bytes);
      for (uint64_t i = 0; !from && i < bytes; ++i) std::atomic_ref(words[i]).store(value, std::memory_order_release);
      under_way_.pop_front();
      finished_ += counts;
    }
    return finished_;
  }

 private:
  struct One {
    void* to;
    const void* from;  // null: bytes counts words, which get value
    uint64_t bytes, value;
    bool counts;  // what went ahead of another copy does not
  };
  FarMemory& memory_;
  std::deque<One> under_way_;
  uint64_t started_ = 0, finished_ = 0, asked_ = 0;
};

class FarDevice final : public mk::rt::Device {
 public:
  std::string name() const override { return "a far device"; }
  mk::rt::DeviceId id() const override { return {}; }
  std::string pci() const override { return ""; }
  bool reaches(const mk::rt::DeviceId&) const override { return true; }
  std::shared_ptr<mk::rt::Memory> create(uint64_t bytes) override { return memory_ = std::make_shared<FarMemory>(bytes); }
  std::shared_ptr<mk::rt::Memory> import(const mk::rt::Fd&, uint64_t) override { return nullptr; }
  uint32_t load(const uint32_t* word) override { return host_->load(static_cast<uint32_t*>(memory_->near(word))); }
  void store(uint32_t* word, uint32_t value) override { host_->store(static_cast<uint32_t*>(memory_->near(word)), value); }
  bool claim(uint32_t* word) override { return host_->claim(static_cast<uint32_t*>(memory_->near(word))); }
  void peek(void* host, const void* heap, uint64_t bytes) override { std::memcpy(host, memory_->near(heap), bytes); }
  void poke(void* heap, const void* host, uint64_t bytes) override {
    if (bytes > kPeek) mk::rt::fail(MK_EINVAL, "poke of more than kPeek bytes");
    std::memcpy(memory_->near(heap), host, bytes);
  }
  void copy(void* to, const void* from, uint64_t bytes) override { std::memcpy(memory_->near(to), memory_->near(from), bytes); }
  std::unique_ptr<mk::rt::Copies> copies() override { return std::make_unique<FarCopies>(*memory_); }
  uint32_t* health() const override { return host_->health(); }
  uint32_t* health_device() const override { return host_->health_device(); }
  void* alloc(uint64_t bytes) override { return host_->alloc(bytes); }
  void free(void* ptr) override { host_->free(ptr); }
  void* pinned(uint64_t bytes, void** address) override { return host_->pinned(bytes, address); }
  void pinned_free(void* ptr) override { host_->pinned_free(ptr); }
  void* stream_new() override { return host_->stream_new(); }
  void stream_sync(void* stream) override { host_->stream_sync(stream); }
  void stream_free(void* stream) override { host_->stream_free(stream); }
  void* mark(void* stream) override { return host_->mark(stream); }
  double elapsed(void* from, void* to) override { return host_->elapsed(from, to); }
  void idle() noexcept override {}

 private:
  std::unique_ptr<mk::rt::Device> host_ = mk::rt::host_device();
  std::shared_ptr<FarMemory> memory_;
};

}  // namespace test
