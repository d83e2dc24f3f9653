#include "driver.h"

#include <dlfcn.h>

#include "fail.h"

namespace mk::rt::cuda {
namespace {

Driver load() {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);  // stays loaded: the driver does not unload cleanly
  if (!library)
    fail(MK_EUNAVAILABLE, say("no CUDA driver: %s; install the NVIDIA driver or use the host target", ::dlerror()));
  Driver d;
#define X(name, ...)                                                    \
  d.name = reinterpret_cast<decltype(d.name)>(::dlsym(library, #name)); \
  if (!d.name) fail(MK_EUNAVAILABLE, "the CUDA driver is too old: libcuda.so.1 lacks " #name);
  MK_CUDA_FUNCTIONS(X)
#undef X
  if (Result r = d.cuInit(0)) {
    const char* text = nullptr;
    d.cuGetErrorString(r, &text);
    fail(MK_EUNAVAILABLE, say("cuInit: %s (%d); is a GPU visible to this process?", text ? text : "unknown error", r));
  }
  return d;
}

}  // namespace

const Driver& driver() {
  static const Driver loaded = load();  // tried again at the next call where it throws
  return loaded;
}

void must(Result r, const std::string& what) {
  if (r == 0) return;
  const char* text = nullptr;
  driver().cuGetErrorString(r, &text);
  fail(r == kOutOfMemory ? MK_ENOMEM : MK_ESYSTEM, say("%s: %s (%d)", what.c_str(), text ? text : "unknown error", r));
}

}  // namespace mk::rt::cuda
