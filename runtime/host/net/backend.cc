#include "backend.h"

#include "../fail.h"

namespace mk::rt::net {

bool words_by_cpu(int backend) { return backend == MK_BACKEND_TCP || backend == MK_BACKEND_EFA; }

const char* macro_of(int backend) {
  switch (backend) {
    case MK_BACKEND_SHM: return "INTERNODE_BACKEND_SHM";
    case MK_BACKEND_TCP: return "INTERNODE_BACKEND_TCP";
    case MK_BACKEND_IBVERBS: return "INTERNODE_BACKEND_IBVERBS";
    case MK_BACKEND_EFA: return "INTERNODE_BACKEND_EFA";
  }
  return "no backend";
}

std::unique_ptr<Backend> make_backend(int backend, const Site& site) {
  switch (backend) {
    case MK_BACKEND_SHM: return shm_backend(site);
    case MK_BACKEND_TCP: return tcp_backend(site);
    case MK_BACKEND_IBVERBS: return ibverbs_backend(site);
    case MK_BACKEND_EFA: return efa_backend(site);
  }
  fail(MK_EINVAL, say("backend %d between nodes: it must be one of mk_backend", backend));
}

}  // namespace mk::rt::net
