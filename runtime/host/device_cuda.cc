// A GPU through the driver API. Copies run on a stream of their own that waits for no kernel, and Control is read and
// written through a pinned page, so that mk_check and mk_abort work beside a kernel that hangs.
#include <cctype>
#include <cstring>

#include "copies_cuda.h"
#include "device.h"
#include "heap_cuda.h"

namespace mk::rt {
namespace {

using namespace cuda;

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int ordinal) : primary_(std::make_shared<Primary>(ordinal)) {
    Current current(*primary_);
    const Driver& d = driver();
    must(d.cuStreamCreate(&stream_, kStreamNonBlocking), "cuStreamCreate");
    void* page = nullptr;
    if (Result r = d.cuMemHostAlloc(&page, kPage, kHostPortable | kHostMapped)) {
      d.cuStreamDestroy_v2(stream_);
      must(r, "pinned host page");
    }
    std::memset(page, 0, kPage);
    page_ = static_cast<std::byte*>(page);
    if (Result r = d.cuMemHostGetDevicePointer_v2(&health_device_, page, 0)) {
      d.cuMemFreeHost(page);
      d.cuStreamDestroy_v2(stream_);
      must(r, "device address of the health word");
    }
  }

  ~CudaDevice() override {
    const Driver& d = driver();
    if (d.cuCtxPushCurrent_v2(primary_->context())) return;  // the context is gone, and all this with it
    d.cuStreamDestroy_v2(stream_);
    d.cuMemFreeHost(page_);
    Context popped;
    d.cuCtxPopCurrent_v2(&popped);
  }

  std::string name() const override {
    char model[64] = "";
    driver().cuDeviceGetName(model, sizeof model, primary_->gpu());
    return say("CUDA device %d (%s)", primary_->ordinal(), model);
  }
  DeviceId id() const override { return id_of(primary_->gpu()); }
  std::string pci() const override {
    char name[32] = "";
    must(driver().cuDeviceGetPCIBusId(name, sizeof name, primary_->gpu()), "cuDeviceGetPCIBusId");
    for (char& c : name) c = char(std::tolower(c));
    return name;
  }

  // A peer's device that CUDA_VISIBLE_DEVICES hides from this process cannot be asked about; the import then tells.
  bool reaches(const DeviceId& peer) const override {
    const Driver& d = driver();
    int count = 0;
    must(d.cuDeviceGetCount(&count), "count CUDA devices");
    for (int i = 0; i < count; ++i) {
      Gpu other;
      must(d.cuDeviceGet(&other, i), "cuDeviceGet");
      if (id_of(other) != peer || other == primary_->gpu()) continue;
      int can = 0;
      must(d.cuDeviceCanAccessPeer(&can, primary_->gpu(), other), "cuDeviceCanAccessPeer");
      return can;
    }
    return true;
  }

  std::shared_ptr<Memory> create(uint64_t bytes) override { return std::make_shared<VmmMemory>(primary_, bytes); }
  std::shared_ptr<Memory> import(const Fd& fd, uint64_t bytes) override {
    return std::make_shared<VmmMemory>(primary_, fd, bytes);
  }

  uint32_t load(const uint32_t* word) override {
    uint32_t value;
    peek(&value, word, sizeof value);
    return value;
  }
  void store(uint32_t* word, uint32_t value) override { poke(word, &value, sizeof value); }
  // Not atomic: a kernel that gives up at the same moment may mix its report with ours. Both end the world.
  bool claim(uint32_t* word) override {
    if (load(word)) return false;
    store(word, 1);
    return true;
  }
  void peek(void* host, const void* heap, uint64_t bytes) override {
    std::lock_guard lock(mutex_);
    transfer(page_ + kBounce, heap, bytes);
    std::memcpy(host, page_ + kBounce, bytes);
  }
  void poke(void* heap, const void* host, uint64_t bytes) override {
    std::lock_guard lock(mutex_);
    std::memcpy(page_ + kBounce, host, bytes);
    transfer(heap, page_ + kBounce, bytes);
  }
  void copy(void* to, const void* from, uint64_t bytes) override {
    if (bytes == 0) return;
    std::lock_guard lock(mutex_);
    transfer(to, from, bytes);
  }
  std::unique_ptr<Copies> copies() override { return cuda_copies(primary_); }

  uint32_t* health() const override { return reinterpret_cast<uint32_t*>(page_); }
  uint32_t* health_device() const override { return reinterpret_cast<uint32_t*>(health_device_); }

  void* alloc(uint64_t bytes) override {
    Current current(*primary_);
    Ptr at = 0;
    must(driver().cuMemAlloc_v2(&at, bytes ? bytes : 1),
         say("%lu bytes on CUDA device %d", bytes, primary_->ordinal()));
    return reinterpret_cast<void*>(at);
  }
  void free(void* ptr) override {
    Current current(*primary_);
    must(driver().cuMemFree_v2(Ptr(ptr)), "cuMemFree");
  }
  void* pinned(uint64_t bytes, void** device_address) override {
    Current current(*primary_);
    const Driver& d = driver();
    void* at = nullptr;
    must(d.cuMemHostAlloc(&at, bytes ? bytes : 1, kHostPortable | kHostMapped),
         say("%lu bytes of pinned host memory", bytes));
    Ptr mapped = 0;
    if (Result r = d.cuMemHostGetDevicePointer_v2(&mapped, at, 0)) {
      d.cuMemFreeHost(at);
      must(r, "device address of pinned host memory");
    }
    *device_address = reinterpret_cast<void*>(mapped);
    return std::memset(at, 0, bytes);
  }
  void pinned_free(void* ptr) override {
    Current current(*primary_);
    must(driver().cuMemFreeHost(ptr), "cuMemFreeHost");
  }

  void* stream_new() override {
    Current current(*primary_);
    Stream stream;
    must(driver().cuStreamCreate(&stream, kStreamNonBlocking), "cuStreamCreate");
    return stream;
  }
  void stream_sync(void* stream) override {
    Current current(*primary_);
    must(driver().cuStreamSynchronize(static_cast<Stream>(stream)),
         say("wait for a stream of CUDA device %d", primary_->ordinal()));
  }
  void stream_free(void* stream) override {
    Current current(*primary_);
    driver().cuStreamDestroy_v2(static_cast<Stream>(stream));
  }

  void* mark(void* stream) override {
    Current current(*primary_);
    const Driver& d = driver();
    Event event;
    must(d.cuEventCreate(&event, 0), "cuEventCreate");
    if (Result r = d.cuEventRecord(event, static_cast<Stream>(stream))) {
      d.cuEventDestroy_v2(event);
      must(r, "cuEventRecord");
    }
    return event;
  }
  double elapsed(void* from, void* to) override {
    Current current(*primary_);
    const Driver& d = driver();
    Event a = static_cast<Event>(from), b = static_cast<Event>(to);
    float ms = 0;
    Result r = d.cuEventSynchronize(a);
    if (!r) r = d.cuEventSynchronize(b);
    if (!r) r = d.cuEventElapsedTime(&ms, a, b);
    d.cuEventDestroy_v2(a);
    if (b != a) d.cuEventDestroy_v2(b);
    must(r, "time between two marks");
    return ms;
  }

  void idle() noexcept override {
    const Driver& d = driver();
    if (d.cuCtxPushCurrent_v2(primary_->context())) return;
    d.cuCtxSynchronize();
    Context popped;
    d.cuCtxPopCurrent_v2(&popped);
  }

 private:
  static constexpr size_t kPage = 4096, kBounce = 1024;  // health word in front, peek and poke behind
  static_assert(kBounce + kPeek <= kPage);

  static DeviceId id_of(Gpu device) {
    Uuid uuid;
    must(driver().cuDeviceGetUuid(&uuid, device), "cuDeviceGetUuid");
    DeviceId id;
    std::memcpy(id.data(), uuid.bytes, id.size());
    return id;
  }

  void transfer(void* to, const void* from, uint64_t bytes) {
    Current current(*primary_);
    must(driver().cuMemcpyAsync(Ptr(to), Ptr(from), bytes, stream_), say("copy %lu bytes", bytes));
    must(driver().cuStreamSynchronize(stream_), say("copy %lu bytes", bytes));
  }

  std::shared_ptr<Primary> primary_;
  Stream stream_ = nullptr;
  std::byte* page_ = nullptr;
  Ptr health_device_ = 0;
  std::mutex mutex_;
};

}  // namespace

std::unique_ptr<Device> cuda_device(int ordinal) { return std::make_unique<CudaDevice>(ordinal); }

}  // namespace mk::rt
