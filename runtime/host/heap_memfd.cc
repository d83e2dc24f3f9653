// Symmetric heap of the host target: a memfd, mapped by every process.
#include "heap_memfd.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "fail.h"

namespace mk::rt {

MemfdMemory::MemfdMemory(uint64_t bytes) : fd_(::memfd_create("mk-heap", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  if (!fd_) fail_errno("memfd_create for the symmetric heap");
  if (::ftruncate(fd_.get(), off_t(bytes))) fail_errno(say("symmetric heap of %lu bytes", bytes).c_str());
  ::fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);  // no peer can cut it under our feet
  map(bytes);
}

MemfdMemory::MemfdMemory(const Fd& fd, uint64_t bytes) : fd_(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0)) {
  if (!fd_) fail_errno("duplicate a peer's heap descriptor");
  struct stat s;
  if (::fstat(fd_.get(), &s)) fail_errno("fstat of a peer's heap");
  if (uint64_t(s.st_size) != bytes)
    fail(MK_EMISMATCH, say("a peer's heap has %ld bytes, its blob says %lu", long(s.st_size), bytes));
  map(bytes);
  fd_ = Fd();
}

MemfdMemory::~MemfdMemory() { ::munmap(base_, bytes_); }

void MemfdMemory::map(uint64_t bytes) {
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
  if (at == MAP_FAILED) fail_errno(say("map %lu bytes of symmetric heap", bytes).c_str());
  base_ = static_cast<std::byte*>(at);
  bytes_ = bytes;
}

Fd MemfdMemory::share() const {
  Fd copy(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0));
  if (!copy) fail_errno("duplicate the heap's descriptor");
  return copy;
}

}  // namespace mk::rt
