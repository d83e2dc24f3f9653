#include "verbs.h"

#include <dlfcn.h>

#include "../fail.h"
#include "efadv.h"

namespace mk::rt::verbs {
namespace {

void* open(const char* file, const char* package) {
  void* library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);  // stays loaded: providers are loaded behind it
  if (!library)
    fail(MK_EUNAVAILABLE, say("no RDMA: %s; install rdma-core's %s or choose another [backend] macro", ::dlerror(), package));
  return library;
}

template <class Function> void find(Function& f, void* library, const char* file, const char* name) {
  f = reinterpret_cast<Function>(::dlsym(library, name));
  if (!f) fail(MK_EUNAVAILABLE, say("rdma-core is too old: %s lacks %s", file, name));
}

Verbs load_verbs() {
  const char* file = "libibverbs.so.1";
  void* library = open(file, "libibverbs1 and ibverbs-providers");
  Verbs v;
#define X(result, name, ...) find(v.name, library, file, "ibv_" #name);
  MK_VERBS_FUNCTIONS(X)
#undef X
  find(v.query_gid_ex, library, file, "_ibv_query_gid_ex");
  v.reg_dmabuf_mr = reinterpret_cast<decltype(v.reg_dmabuf_mr)>(::dlsym(library, "ibv_reg_dmabuf_mr"));
  return v;
}

Efadv load_efadv() {
  const char* file = "libefa.so.1";
  void* library = open(file, "ibverbs-providers");
  Efadv e;
  find(e.query_device, library, file, "efadv_query_device");
  find(e.create_qp_ex, library, file, "efadv_create_qp_ex");
  return e;
}

}  // namespace

const Verbs& verbs() {
  static const Verbs loaded = load_verbs();  // tried again at the next call where it throws
  return loaded;
}

const Efadv& efadv() {
  static const Efadv loaded = load_efadv();
  return loaded;
}

}  // namespace mk::rt::verbs
