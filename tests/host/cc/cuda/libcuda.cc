// A CUDA driver made of host memory, for tests of libmkrt's CUDA side on machines without a GPU: the part of the driver
// API that libmkrt uses, with the rules that matter here enforced: a current context where the driver needs one, sizes
// in units of the granularity, access only for devices that were given it, and a count of everything that is still
// alive. What is put into a stream happens later, on a thread of that stream.
//   FAKE_CUDA_DEVICES  how many devices (4)       FAKE_CUDA_APART  "0,3": those two have no peer access
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "driver.h"

using namespace mk::rt::cuda;

namespace {

constexpr Result kInvalid = 1, kNoContext = 201, kDenied = 217;
constexpr size_t kGranularity = 2 << 20;

struct Allocation {
  int fd, device, references;
};
struct Range {
  size_t bytes;
  Allocation* mapped;
  std::set<int> access;
};

class Queue {
 public:
  Queue() : thread_([this] { work(); }) {}
  ~Queue() {
    put({});
    thread_.join();
  }
  void put(std::function<void()> task) {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    changed_.notify_all();
  }
  bool empty() {
    std::lock_guard lock(mutex_);
    return tasks_.empty();
  }
  void drain() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return tasks_.empty(); });
  }

 private:
  void work() {
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !tasks_.empty(); });
      std::function<void()> task = tasks_.front();
      lock.unlock();
      if (!task) return;
      std::this_thread::yield();
      task();
      lock.lock();
      tasks_.pop_front();
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  std::thread thread_;
};

std::mutex mutex;
std::map<Ptr, Range> ranges;
std::set<Allocation*> handles;
std::set<void*> blocks, streams, events;

Queue& queue(Stream s) { return *reinterpret_cast<Queue*>(s); }
int retained[64];
thread_local int current[16];
thread_local int depth = 0;

int devices() {
  const char* text = std::getenv("FAKE_CUDA_DEVICES");
  return text ? std::atoi(text) : 4;
}

bool apart(int a, int b) {
  int x = -1, y = -1;
  if (const char* text = std::getenv("FAKE_CUDA_APART")) std::sscanf(text, "%d,%d", &x, &y);
  return (a == x && b == y) || (a == y && b == x);
}

void drop(Allocation* a) {
  if (--a->references > 0) return;
  ::close(a->fd);
  delete a;
}

Result map_at(Ptr at, size_t bytes, int protection, int flags, int fd) {
  return ::mmap(reinterpret_cast<void*>(at), bytes, protection, flags | MAP_FIXED, fd, 0) == MAP_FAILED ? kInvalid : 0;
}

}  // namespace

#define NEED_CONTEXT \
  if (depth == 0) return kNoContext
#define LOCK std::lock_guard lock(mutex)

extern "C" {

// Everything that is alive: 0 once all was given back.
int fake_cuda_live() {
  LOCK;
  size_t count = ranges.size() + handles.size() + blocks.size() + streams.size() + events.size();
  for (int r : retained) count += size_t(r);
  return int(count);
}
int fake_cuda_may_access(const void* p, int device) {
  LOCK;
  auto at = ranges.upper_bound(Ptr(p));
  return at != ranges.begin() && (--at)->second.mapped && at->second.access.count(device);
}

Result cuInit(unsigned) { return devices() > 0 ? 0 : 100; }
Result cuGetErrorString(Result r, const char** text) {
  *text = r == 2 ? "out of memory" : r == 100 ? "no CUDA-capable device is detected" : "fake error";
  return 0;
}
Result cuDeviceGet(Gpu* g, int ordinal) { return *g = ordinal, ordinal < devices() ? 0 : kInvalid; }
Result cuDeviceGetCount(int* n) { return *n = devices(), 0; }
Result cuDeviceGetName(char* name, int len, Gpu) { return std::snprintf(name, size_t(len), "Fake"), 0; }
Result cuDeviceGetPCIBusId(char* text, int length, Gpu g) {
  return std::snprintf(text, size_t(length), "0000:%02X:00.0", 0xa0 + g), 0;
}
Result cuDeviceGetUuid(Uuid* u, Gpu g) { return std::memset(u, 0x40 + g, sizeof *u), 0; }
Result cuDeviceGetAttribute(int* value, int, Gpu) { return *value = 1, 0; }
Result cuDeviceCanAccessPeer(int* can, Gpu a, Gpu b) { return *can = a != b && !apart(a, b), 0; }
Result cuDevicePrimaryCtxRetain(Context* c, Gpu g) {
  LOCK;
  ++retained[g];
  *c = reinterpret_cast<Context>(intptr_t(g) + 1);
  return 0;
}
Result cuDevicePrimaryCtxRelease_v2(Gpu g) {
  LOCK;
  return --retained[g] < 0 ? kInvalid : 0;
}
Result cuCtxPushCurrent_v2(Context c) { return current[depth++] = int(intptr_t(c)) - 1, 0; }
Result cuCtxPopCurrent_v2(Context* c) {
  NEED_CONTEXT;
  *c = reinterpret_cast<Context>(intptr_t(current[--depth]) + 1);
  return 0;
}
Result cuCtxSynchronize() {
  NEED_CONTEXT;
  return 0;
}

Result cuMemGetAllocationGranularity(size_t* g, const AllocationProp*, int) { return *g = kGranularity, 0; }
Result cuMemCreate(Handle* h, size_t bytes, const AllocationProp* p, unsigned long long) {
  LOCK;
  if (bytes == 0 || bytes % kGranularity || p->type != kAllocationPinned || p->location.type != kLocationDevice ||
      p->location.id < 0 || p->location.id >= devices() || p->requested_handle_types != kHandlePosixFd)
    return kInvalid;
  int fd = ::memfd_create("fake-vmm", MFD_CLOEXEC);
  if (::ftruncate(fd, off_t(bytes))) return 2;
  auto* a = new Allocation{fd, p->location.id, 1};
  handles.insert(a);
  *h = Handle(a);
  return 0;
}
Result cuMemRelease(Handle h) {
  LOCK;
  auto* a = reinterpret_cast<Allocation*>(h);
  if (!handles.erase(a)) return kInvalid;
  drop(a);
  return 0;
}
Result cuMemExportToShareableHandle(void* out, Handle h, int type, unsigned long long) {
  LOCK;
  auto* a = reinterpret_cast<Allocation*>(h);
  if (!handles.count(a) || type != kHandlePosixFd) return kInvalid;
  *static_cast<int*>(out) = ::fcntl(a->fd, F_DUPFD_CLOEXEC, 0);
  return 0;
}
Result cuMemGetHandleForAddressRange(void* out, Ptr at, size_t bytes, int type, unsigned long long) {
  NEED_CONTEXT;
  LOCK;
  auto range = ranges.find(at);
  if (range == ranges.end() || range->second.bytes != bytes || !range->second.mapped || type != kRangeDmabuf) return kInvalid;
  *static_cast<int*>(out) = ::fcntl(range->second.mapped->fd, F_DUPFD_CLOEXEC, 0);
  return 0;
}
Result cuMemImportFromShareableHandle(Handle* h, void* fd, int type) {
  LOCK;
  if (type != kHandlePosixFd) return kInvalid;
  auto* a = new Allocation{::fcntl(int(intptr_t(fd)), F_DUPFD_CLOEXEC, 0), -1, 1};
  handles.insert(a);
  *h = Handle(a);
  return a->fd < 0 ? kInvalid : 0;
}
Result cuMemAddressReserve(Ptr* p, size_t bytes, size_t, Ptr, unsigned long long) {
  LOCK;
  if (bytes == 0 || bytes % kGranularity) return kInvalid;
  void* at = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return 2;
  ranges[*p = Ptr(at)] = {bytes, nullptr, {}};
  return 0;
}
Result cuMemAddressFree(Ptr p, size_t bytes) {
  LOCK;
  auto at = ranges.find(p);
  if (at == ranges.end() || at->second.bytes != bytes || at->second.mapped) return kInvalid;
  ranges.erase(at);
  return ::munmap(reinterpret_cast<void*>(p), bytes) ? kInvalid : 0;
}
Result cuMemMap(Ptr p, size_t bytes, size_t offset, Handle h, unsigned long long) {
  LOCK;
  auto at = ranges.find(p);
  auto* a = reinterpret_cast<Allocation*>(h);
  struct stat s;
  if (at == ranges.end() || at->second.bytes != bytes || at->second.mapped || offset || !handles.count(a))
    return kInvalid;
  if (::fstat(a->fd, &s) || size_t(s.st_size) != bytes) return kInvalid;
  at->second.mapped = a;
  ++a->references;
  return map_at(p, bytes, PROT_NONE, MAP_SHARED, a->fd);
}
Result cuMemSetAccess(Ptr p, size_t bytes, const AccessDesc* d, size_t count) {
  LOCK;
  auto at = ranges.find(p);
  if (at == ranges.end() || at->second.bytes != bytes || !at->second.mapped) return kInvalid;
  for (size_t i = 0; i < count; ++i) {
    if (d[i].location.type != kLocationDevice || d[i].flags != kReadWrite) return kInvalid;
    if (at->second.mapped->device >= 0 && apart(at->second.mapped->device, d[i].location.id)) return kDenied;
    at->second.access.insert(d[i].location.id);
  }
  return ::mprotect(reinterpret_cast<void*>(p), bytes, PROT_READ | PROT_WRITE) ? kInvalid : 0;
}
Result cuMemUnmap(Ptr p, size_t bytes) {
  LOCK;
  auto at = ranges.find(p);
  if (at == ranges.end() || at->second.bytes != bytes || !at->second.mapped) return kInvalid;
  drop(std::exchange(at->second.mapped, nullptr));
  at->second.access.clear();
  return map_at(p, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
}

Result cuMemAlloc_v2(Ptr* p, size_t bytes) {
  NEED_CONTEXT;
  LOCK;
  if (bytes == 0) return kInvalid;
  void* at = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  blocks.insert(at);
  *p = Ptr(at);
  return 0;
}
Result cuMemFree_v2(Ptr p) {
  NEED_CONTEXT;
  LOCK;
  if (!blocks.erase(reinterpret_cast<void*>(p))) return kInvalid;
  std::free(reinterpret_cast<void*>(p));
  return 0;
}
Result cuMemHostAlloc(void** p, size_t bytes, unsigned flags) {
  if (!(flags & kHostMapped)) return kInvalid;
  Ptr at = 0;
  Result r = cuMemAlloc_v2(&at, bytes);
  *p = reinterpret_cast<void*>(at);
  return r;
}
Result cuMemFreeHost(void* p) { return cuMemFree_v2(Ptr(p)); }
Result cuMemHostGetDevicePointer_v2(Ptr* d, void* p, unsigned) { return *d = Ptr(p), 0; }
// Small copies by word, as a kernel's thread would see them.
Result cuMemcpyAsync(Ptr to, Ptr from, size_t bytes, Stream s) {
  NEED_CONTEXT;
  queue(s).put([=] {
    if (bytes % 4 == 0 && bytes <= 64)
      for (size_t at = 0; at < bytes; at += 4)
        __atomic_store_n(reinterpret_cast<uint32_t*>(to + at),
                         __atomic_load_n(reinterpret_cast<uint32_t*>(from + at), __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
    else
      std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
  });
  return 0;
}
Result cuMemsetD8Async(Ptr p, unsigned char value, size_t bytes, Stream s) {
  NEED_CONTEXT;
  queue(s).put([=] { std::memset(reinterpret_cast<void*>(p), value, bytes); });
  return 0;
}

Result cuStreamCreate(Stream* s, unsigned) {
  NEED_CONTEXT;
  *s = reinterpret_cast<Stream>(new Queue);
  LOCK;
  streams.insert(*s);
  return 0;
}
bool known(Stream s) {
  LOCK;
  return streams.count(s);
}
Result cuStreamSynchronize(Stream s) {
  NEED_CONTEXT;
  if (!s) return 0;
  if (!known(s)) return kInvalid;
  queue(s).drain();
  return 0;
}
Result cuStreamQuery(Stream s) {
  NEED_CONTEXT;
  if (!known(s)) return kInvalid;
  return queue(s).empty() ? 0 : kNotReady;
}
Result cuStreamWriteValue32_v2(Stream s, Ptr p, uint32_t value, unsigned) {
  NEED_CONTEXT;
  if (!known(s) || p % sizeof value) return kInvalid;
  queue(s).put([=] { __atomic_store_n(reinterpret_cast<uint32_t*>(p), value, __ATOMIC_RELEASE); });
  return 0;
}
Result cuStreamBatchMemOp_v2(Stream s, unsigned count, const MemOp* op, unsigned flags) {
  NEED_CONTEXT;
  if (!known(s) || count > kMostMemOps || flags) return kInvalid;
  for (unsigned i = 0; i < count; ++i) {
    if (op[i].flags || op[i].address % (op[i].operation == kWrite64 ? 8 : 4)) return kInvalid;
    if (op[i].operation != kWrite32 && op[i].operation != kWrite64) return kInvalid;
  }
  queue(s).put([ops = std::vector(op, op + count)] {
    for (const MemOp& o : ops) {
      if (o.operation == kWrite64) __atomic_store_n(reinterpret_cast<uint64_t*>(o.address), o.value, __ATOMIC_RELEASE);
      else __atomic_store_n(reinterpret_cast<uint32_t*>(o.address), uint32_t(o.value), __ATOMIC_RELEASE);
    }
  });
  return 0;
}
Result cuStreamDestroy_v2(Stream s) {
  {
    LOCK;
    if (!streams.erase(s)) return kInvalid;
  }
  delete reinterpret_cast<Queue*>(s);
  return 0;
}

using Clock = std::chrono::steady_clock;
Result cuEventCreate(Event* e, unsigned) {
  NEED_CONTEXT;
  LOCK;
  *e = reinterpret_cast<Event>(new Clock::time_point);
  events.insert(*e);
  return 0;
}
Result cuEventRecord(Event e, Stream) { return *reinterpret_cast<Clock::time_point*>(e) = Clock::now(), 0; }
Result cuEventSynchronize(Event) { return 0; }
Result cuEventElapsedTime(float* ms, Event a, Event b) {
  *ms = std::chrono::duration<float, std::milli>(*reinterpret_cast<Clock::time_point*>(b) -
                                                 *reinterpret_cast<Clock::time_point*>(a))
            .count();
  return 0;
}
Result cuEventDestroy_v2(Event e) {
  LOCK;
  if (!events.erase(e)) return kInvalid;
  delete reinterpret_cast<Clock::time_point*>(e);
  return 0;
}
}
