#include "region.h"

#include <utility>

#include "../fail.h"

namespace mk::rt::net {

using namespace verbs;

HostRegion::HostRegion(const Nic& nic, mk::rt::Device& device, size_t bytes) : memory_(device, bytes) {
  mr_.reset(verbs::verbs().reg_mr(nic.pd.get(), base(), bytes, kLocalWrite | kRemoteWrite));
  if (mr_) return;
  int number = errno;
  fail(number == ENOMEM ? MK_ENOMEM : MK_ESYSTEM,
       say("register %zu bytes of host memory with %s: %s; is the limit on locked memory (ulimit -l) too low?", bytes,
           nic.name.c_str(), std::strerror(number)));
}

HeapRegion register_heap(const Nic& nic, Memory& heap) {
  const Verbs& v = verbs::verbs();
  const int access = kLocalWrite | kRemoteWrite;
  HeapRegion region;
  std::string dmabuf = "this memory has none";
  if (!v.reg_dmabuf_mr) {
    dmabuf = "libibverbs is too old for it";
  } else if (Fd fd = heap.dmabuf()) {
    region.mr.reset(v.reg_dmabuf_mr(nic.pd.get(), 0, heap.bytes(), reinterpret_cast<uint64_t>(heap.base()), fd.get(), access));
    if (region.mr) return region.how = "dmabuf", std::move(region);
    dmabuf = std::strerror(errno);
  }
  region.mr.reset(v.reg_mr(nic.pd.get(), heap.base(), heap.bytes(), access));
  region.how = region.mr ? "ibv_reg_mr" : say("dmabuf: %s; ibv_reg_mr: %s", dmabuf.c_str(), std::strerror(errno));
  return region;
}

}  // namespace mk::rt::net
