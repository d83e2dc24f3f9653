// A CUDA device's primary context, retained. Shared with the memory that outlives its world.
#pragma once
#include <memory>
#include <string>

#include "driver.h"
#include "fail.h"

namespace mk::rt::cuda {

class Primary {
 public:
  explicit Primary(int ordinal) : ordinal_(ordinal) {
    const Driver& d = driver();
    int count = 0;
    must(d.cuDeviceGetCount(&count), "count CUDA devices");
    if (ordinal < 0 || ordinal >= count)
      fail(MK_EUNAVAILABLE, say("CUDA device %d does not exist: %d visible (CUDA_VISIBLE_DEVICES?)", ordinal, count));
    must(d.cuDeviceGet(&gpu_, ordinal), "cuDeviceGet");
    for (int attribute : {kAttributeVmm, kAttributePosixFd}) {
      int has = 0;
      must(d.cuDeviceGetAttribute(&has, attribute, gpu_), "cuDeviceGetAttribute");
      if (!has)
        fail(MK_EUNAVAILABLE,
             say("CUDA device %d cannot share memory by file descriptor (device attribute %d)", ordinal, attribute));
    }
    must(d.cuDevicePrimaryCtxRetain(&context_, gpu_), say("context on CUDA device %d", ordinal));
  }
  Primary(const Primary&) = delete;
  ~Primary() { driver().cuDevicePrimaryCtxRelease_v2(gpu_); }

  int ordinal() const { return ordinal_; }
  Gpu gpu() const { return gpu_; }
  Context context() const { return context_; }

 private:
  int ordinal_;
  Gpu gpu_ = 0;
  Context context_ = nullptr;
};

// Makes a context current on this thread for a scope and leaves the caller's own as it was.
class Current {
 public:
  explicit Current(const Primary& p) { must(driver().cuCtxPushCurrent_v2(p.context()), "cuCtxPushCurrent"); }
  Current(const Current&) = delete;
  ~Current() {
    Context popped;
    driver().cuCtxPopCurrent_v2(&popped);
  }
};

}  // namespace mk::rt::cuda
