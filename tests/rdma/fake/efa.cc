// libefa.so.1: over the libibverbs.so.1 beside it.
#include <infiniband/efadv.h>

extern "C" {
int fake_query_device(ibv_context*, efadv_device_attr*, uint32_t);
ibv_qp* fake_create_qp(ibv_context*, ibv_qp_init_attr_ex*, efadv_qp_init_attr*, uint32_t);

int efadv_query_device(ibv_context* context, efadv_device_attr* attr, uint32_t size) { return fake_query_device(context, attr, size); }
ibv_qp* efadv_create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* init, efadv_qp_init_attr* efa, uint32_t size) {
  return fake_create_qp(context, init, efa, size);
}
}
