#include "heap_cuda.h"

#include <algorithm>

namespace mk::rt::cuda {
namespace {

bool has(const Primary& p, int attribute) {
  int value = 0;
  must(driver().cuDeviceGetAttribute(&value, attribute, p.gpu()), "cuDeviceGetAttribute");
  return value;
}

AllocationProp prop_of(const Primary& p) {
  AllocationProp prop{};
  prop.type = kAllocationPinned;
  prop.requested_handle_types = kHandlePosixFd;
  prop.location = {kLocationDevice, p.gpu()};
  prop.flags.rdma_capable = has(p, kAttributeVmmRdma);
  return prop;
}

size_t granularity_of(const Primary& p) {
  AllocationProp prop = prop_of(p);
  size_t granularity = 0;
  must(driver().cuMemGetAllocationGranularity(&granularity, &prop, kGranularityMinimum), "allocation granularity");
  return granularity;
}

void zero(const Primary& p, Ptr at, uint64_t bytes) {
  const Driver& d = driver();
  Current current(p);
  Stream stream;
  must(d.cuStreamCreate(&stream, kStreamNonBlocking), "cuStreamCreate");
  Result set = d.cuMemsetD8Async(at, 0, bytes, stream), done = d.cuStreamSynchronize(stream);
  d.cuStreamDestroy_v2(stream);
  must(set, "zero the symmetric heap");
  must(done, "zero the symmetric heap");
}

}  // namespace

uint64_t rounded(const Primary& p, uint64_t bytes) {
  size_t granularity = granularity_of(p);
  return (bytes + granularity - 1) / granularity * granularity;
}

VmmMemory::VmmMemory(std::shared_ptr<Primary> owner, uint64_t bytes) : primary_(std::move(owner)) {
  bytes_ = rounded(*primary_, bytes);
  AllocationProp prop = prop_of(*primary_);
  try {
    Current current(*primary_);
    must(driver().cuMemCreate(&handle_, bytes_, &prop, 0),
         say("symmetric heap of %lu bytes on CUDA device %d", bytes_, primary_->ordinal()));
    held_ = true;
    map(granularity_of(*primary_));
    zero(*primary_, Ptr(base_), bytes_);
  } catch (...) {
    release();
    throw;
  }
}

VmmMemory::VmmMemory(std::shared_ptr<Primary> reader, const Fd& fd, uint64_t bytes) : primary_(std::move(reader)) {
  bytes_ = bytes;
  try {
    Current current(*primary_);
    must(driver().cuMemImportFromShareableHandle(&handle_, reinterpret_cast<void*>(intptr_t(fd.get())), kHandlePosixFd),
         say("import a peer's heap for CUDA device %d", primary_->ordinal()));
    held_ = true;
    map(granularity_of(*primary_));
    driver().cuMemRelease(handle_);  // the mapping keeps the memory
    held_ = false;
  } catch (...) {
    release();
    throw;
  }
}

VmmMemory::~VmmMemory() { release(); }

void VmmMemory::map(size_t granularity) {
  const Driver& d = driver();
  Ptr at = 0;
  must(d.cuMemAddressReserve(&at, bytes_, granularity, 0, 0), say("reserve %lu bytes of addresses", bytes_));
  base_ = reinterpret_cast<std::byte*>(at);
  must(d.cuMemMap(at, bytes_, 0, handle_, 0), say("map %lu bytes of symmetric heap", bytes_));
  mapped_ = true;
  allow(primary_->ordinal());
}

void VmmMemory::allow(int device) {
  std::lock_guard lock(mutex_);
  if (std::find(allowed_.begin(), allowed_.end(), device) != allowed_.end()) return;
  AccessDesc access{{kLocationDevice, device}, kReadWrite};
  must(driver().cuMemSetAccess(Ptr(base_), bytes_, &access, 1),
       say("give CUDA device %d access to the symmetric heap on device %d", device, primary_->ordinal()));
  allowed_.push_back(device);
}

Fd VmmMemory::share() const {
  int fd = -1;
  must(driver().cuMemExportToShareableHandle(&fd, handle_, kHandlePosixFd, 0), "export the symmetric heap");
  return Fd(fd);
}

Fd VmmMemory::dmabuf() const {
  Current current(*primary_);
  int fd = -1;
  if (!has(*primary_, kAttributeDmabuf) ||
      driver().cuMemGetHandleForAddressRange(&fd, Ptr(base_), bytes_, kRangeDmabuf, 0) != 0)
    return Fd();
  return Fd(fd);
}

void VmmMemory::release() noexcept {
  const Driver& d = driver();
  if (mapped_) d.cuMemUnmap(Ptr(base_), bytes_);
  if (base_) d.cuMemAddressFree(Ptr(base_), bytes_);
  if (held_) d.cuMemRelease(handle_);
}

}  // namespace mk::rt::cuda
