// The same for libefa.so.1 and infiniband/efadv.h.
#pragma once
#include "verbs.h"

namespace mk::rt::verbs {

constexpr uint32_t kEfaSrd = 0;  // EfaQpInit::driver_qp_type

// EfaDeviceAttr::caps. The header of older rdma-core lacks the last (an enumerator, so that #ifdef cannot tell); its number is
// part of libefa's interface, and an older libefa never sets it.
constexpr uint32_t kEfaRdmaRead = 1 << 0, kEfaRnrRetry = 1 << 1, kEfaRdmaWrite = 1 << 3;

struct EfaDeviceAttr {
  uint64_t mask;
  uint32_t max_sq_wr, max_rq_wr;
  uint16_t max_sq_sge, max_rq_sge, inline_bytes;
  uint8_t reserved[2];
  uint32_t caps, max_rdma;  // max_rdma: bytes of one read or write
};
struct EfaQpInit {
  uint64_t mask;
  uint32_t driver_qp_type;
  uint8_t reserved[4];
};

struct Efadv {
  int (*query_device)(Context*, EfaDeviceAttr*, uint32_t size);
  Qp* (*create_qp_ex)(Context*, QpInitEx*, EfaQpInit*, uint32_t size);
};

// Loads the library once; throws MK_EUNAVAILABLE where there is none.
const Efadv& efadv();

}  // namespace mk::rt::verbs
