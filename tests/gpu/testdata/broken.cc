// A kernel library that is wrong in one element of C: passes every call on to the real library REAL, whose functions start
// with NAME, and then spoils the last element of a launch with M = SPOIL_M.
#include <dlfcn.h>

#include "ag_w2_n200_k72.h"

#define NAME(function) ag_w2_n200_k72_##function

namespace {
template <class F> F* real(const char* name) {
  static void* library = dlopen(REAL, RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<F*>(dlsym(library, name));
}
}  // namespace
#define REAL_FUNCTION(function) real<decltype(NAME(function))>("ag_w2_n200_k72_" #function)

extern "C" {
uint64_t NAME(abi)() { return REAL_FUNCTION(abi)(); }
const char* NAME(target)() { return REAL_FUNCTION(target)(); }
int NAME(open)(const mk_view* view, ag_w2_n200_k72** kernel, char* err, size_t n) { return REAL_FUNCTION(open)(view, kernel, err, n); }
void NAME(close)(ag_w2_n200_k72* kernel) { REAL_FUNCTION(close)(kernel); }
int NAME(launch)(ag_w2_n200_k72* kernel, const NAME(args)* args, char* err, size_t n) {
  int status = REAL_FUNCTION(launch)(kernel, args, err, n);
  if (status == 0 && args->m == SPOIL_M) static_cast<uint16_t*>(args->c)[SPOIL_M * 200 - 1] = 0;
  return status;
}
}
