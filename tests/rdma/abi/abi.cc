// Our declarations of libibverbs and libefa against rdma-core's headers, at compile time; and, linked with both libraries,
// that what is found at run time is what their headers declare.
#include <infiniband/efadv.h>
#include <infiniband/verbs.h>

#include <cstdio>

#include "fail.h"
#include "net/efadv.h"

namespace v = mk::rt::verbs;

#define SIZE(ours, theirs) static_assert(sizeof(v::ours) == sizeof(theirs) && alignof(v::ours) == alignof(theirs))
#define FIELD(ours, field, theirs, member)                           \
  static_assert(offsetof(v::ours, field) == offsetof(theirs, member) && \
                sizeof(v::ours::field) == sizeof(theirs::member))
#define EQUAL(ours, theirs) static_assert(uint64_t(v::ours) == uint64_t(theirs))

SIZE(Gid, ibv_gid);
SIZE(GidEntry, ibv_gid_entry);
FIELD(GidEntry, gid, ibv_gid_entry, gid);
FIELD(GidEntry, index, ibv_gid_entry, gid_index);
FIELD(GidEntry, port, ibv_gid_entry, port_num);
FIELD(GidEntry, type, ibv_gid_entry, gid_type);
FIELD(GidEntry, netdev, ibv_gid_entry, ndev_ifindex);
EQUAL(kGidIb, IBV_GID_TYPE_IB);
EQUAL(kGidRoceV1, IBV_GID_TYPE_ROCE_V1);
EQUAL(kGidRoceV2, IBV_GID_TYPE_ROCE_V2);

SIZE(Device, ibv_device);
FIELD(Device, node_type, ibv_device, node_type);
FIELD(Device, transport, ibv_device, transport_type);
FIELD(Device, name, ibv_device, name);
FIELD(Device, ibdev_path, ibv_device, ibdev_path);
EQUAL(kTransportIb, IBV_TRANSPORT_IB);
EQUAL(kTransportUnspecified, IBV_TRANSPORT_UNSPECIFIED);

SIZE(ContextOps, ibv_context_ops);
FIELD(ContextOps, poll_cq, ibv_context_ops, poll_cq);
FIELD(ContextOps, post_send, ibv_context_ops, post_send);
FIELD(ContextOps, post_recv, ibv_context_ops, post_recv);
SIZE(Context, ibv_context);
FIELD(Context, device, ibv_context, device);
FIELD(Context, ops, ibv_context, ops);

SIZE(DeviceAttr, ibv_device_attr);
FIELD(DeviceAttr, max_mr_size, ibv_device_attr, max_mr_size);
FIELD(DeviceAttr, max_qp_wr, ibv_device_attr, max_qp_wr);
FIELD(DeviceAttr, max_sge, ibv_device_attr, max_sge);
FIELD(DeviceAttr, max_cqe, ibv_device_attr, max_cqe);
FIELD(DeviceAttr, ports, ibv_device_attr, phys_port_cnt);

SIZE(PortAttr, ibv_port_attr);
FIELD(PortAttr, state, ibv_port_attr, state);
FIELD(PortAttr, active_mtu, ibv_port_attr, active_mtu);
FIELD(PortAttr, gids, ibv_port_attr, gid_tbl_len);
FIELD(PortAttr, max_message, ibv_port_attr, max_msg_sz);
FIELD(PortAttr, lid, ibv_port_attr, lid);
FIELD(PortAttr, link, ibv_port_attr, link_layer);
EQUAL(kPortActive, IBV_PORT_ACTIVE);
EQUAL(kLinkInfiniband, IBV_LINK_LAYER_INFINIBAND);
EQUAL(kLinkEthernet, IBV_LINK_LAYER_ETHERNET);

SIZE(Pd, ibv_pd);
SIZE(Mr, ibv_mr);
FIELD(Mr, lkey, ibv_mr, lkey);
FIELD(Mr, rkey, ibv_mr, rkey);
EQUAL(kLocalWrite, IBV_ACCESS_LOCAL_WRITE);
EQUAL(kRemoteWrite, IBV_ACCESS_REMOTE_WRITE);

SIZE(Cq, ibv_cq);
FIELD(Cq, context, ibv_cq, context);
SIZE(Wc, ibv_wc);
FIELD(Wc, wr_id, ibv_wc, wr_id);
FIELD(Wc, status, ibv_wc, status);
FIELD(Wc, opcode, ibv_wc, opcode);
FIELD(Wc, vendor, ibv_wc, vendor_err);
FIELD(Wc, imm, ibv_wc, imm_data);
FIELD(Wc, qp_num, ibv_wc, qp_num);
FIELD(Wc, flags, ibv_wc, wc_flags);
EQUAL(kWcSuccess, IBV_WC_SUCCESS);
EQUAL(kWcFlushed, IBV_WC_WR_FLUSH_ERR);
EQUAL(kWcSend, IBV_WC_SEND);
EQUAL(kWcRdmaWrite, IBV_WC_RDMA_WRITE);
EQUAL(kWcRecv, IBV_WC_RECV);
EQUAL(kWcRecvRdmaWithImm, IBV_WC_RECV_RDMA_WITH_IMM);

SIZE(Sge, ibv_sge);
FIELD(Sge, addr, ibv_sge, addr);
FIELD(Sge, length, ibv_sge, length);
FIELD(Sge, lkey, ibv_sge, lkey);
SIZE(SendWr, ibv_send_wr);
FIELD(SendWr, wr_id, ibv_send_wr, wr_id);
FIELD(SendWr, next, ibv_send_wr, next);
FIELD(SendWr, sges, ibv_send_wr, sg_list);
FIELD(SendWr, sge_count, ibv_send_wr, num_sge);
FIELD(SendWr, opcode, ibv_send_wr, opcode);
FIELD(SendWr, flags, ibv_send_wr, send_flags);
FIELD(SendWr, imm, ibv_send_wr, imm_data);
FIELD(SendWr, remote.addr, ibv_send_wr, wr.rdma.remote_addr);
FIELD(SendWr, remote.rkey, ibv_send_wr, wr.rdma.rkey);
EQUAL(kRdmaWrite, IBV_WR_RDMA_WRITE);
EQUAL(kSignaled, IBV_SEND_SIGNALED);
EQUAL(kInline, IBV_SEND_INLINE);
SIZE(RecvWr, ibv_recv_wr);
FIELD(RecvWr, sges, ibv_recv_wr, sg_list);
FIELD(RecvWr, sge_count, ibv_recv_wr, num_sge);

SIZE(GlobalRoute, ibv_global_route);
FIELD(GlobalRoute, dgid, ibv_global_route, dgid);
FIELD(GlobalRoute, sgid_index, ibv_global_route, sgid_index);
FIELD(GlobalRoute, hop_limit, ibv_global_route, hop_limit);
SIZE(AhAttr, ibv_ah_attr);
FIELD(AhAttr, grh, ibv_ah_attr, grh);
FIELD(AhAttr, dlid, ibv_ah_attr, dlid);
FIELD(AhAttr, is_global, ibv_ah_attr, is_global);
FIELD(AhAttr, port, ibv_ah_attr, port_num);

SIZE(QpCap, ibv_qp_cap);
FIELD(QpCap, send_wr, ibv_qp_cap, max_send_wr);
FIELD(QpCap, recv_wr, ibv_qp_cap, max_recv_wr);
FIELD(QpCap, send_sge, ibv_qp_cap, max_send_sge);
FIELD(QpCap, recv_sge, ibv_qp_cap, max_recv_sge);
FIELD(QpCap, inline_data, ibv_qp_cap, max_inline_data);
SIZE(QpInit, ibv_qp_init_attr);
FIELD(QpInit, send_cq, ibv_qp_init_attr, send_cq);
FIELD(QpInit, recv_cq, ibv_qp_init_attr, recv_cq);
FIELD(QpInit, cap, ibv_qp_init_attr, cap);
FIELD(QpInit, type, ibv_qp_init_attr, qp_type);
FIELD(QpInit, all_signaled, ibv_qp_init_attr, sq_sig_all);
SIZE(QpInitEx, ibv_qp_init_attr_ex);
FIELD(QpInitEx, send_cq, ibv_qp_init_attr_ex, send_cq);
FIELD(QpInitEx, recv_cq, ibv_qp_init_attr_ex, recv_cq);
FIELD(QpInitEx, cap, ibv_qp_init_attr_ex, cap);
FIELD(QpInitEx, type, ibv_qp_init_attr_ex, qp_type);
FIELD(QpInitEx, mask, ibv_qp_init_attr_ex, comp_mask);
FIELD(QpInitEx, pd, ibv_qp_init_attr_ex, pd);
FIELD(QpInitEx, send_ops, ibv_qp_init_attr_ex, send_ops_flags);
EQUAL(kQpRc, IBV_QPT_RC);
EQUAL(kQpDriver, IBV_QPT_DRIVER);
EQUAL(kInitPd, IBV_QP_INIT_ATTR_PD);
EQUAL(kInitSendOps, IBV_QP_INIT_ATTR_SEND_OPS_FLAGS);
EQUAL(kOpRdmaWrite, IBV_QP_EX_WITH_RDMA_WRITE);
EQUAL(kOpRdmaWriteImm, IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM);
EQUAL(kOpSend, IBV_QP_EX_WITH_SEND);
EQUAL(kInit, IBV_QPS_INIT);
EQUAL(kReadyToReceive, IBV_QPS_RTR);
EQUAL(kReadyToSend, IBV_QPS_RTS);
EQUAL(kSetState, IBV_QP_STATE);
EQUAL(kSetAccess, IBV_QP_ACCESS_FLAGS);
EQUAL(kSetPkey, IBV_QP_PKEY_INDEX);
EQUAL(kSetPort, IBV_QP_PORT);
EQUAL(kSetQkey, IBV_QP_QKEY);
EQUAL(kSetAddress, IBV_QP_AV);
EQUAL(kSetMtu, IBV_QP_PATH_MTU);
EQUAL(kSetTimeout, IBV_QP_TIMEOUT);
EQUAL(kSetRetries, IBV_QP_RETRY_CNT);
EQUAL(kSetRnrRetries, IBV_QP_RNR_RETRY);
EQUAL(kSetRqPsn, IBV_QP_RQ_PSN);
EQUAL(kSetReads, IBV_QP_MAX_QP_RD_ATOMIC);
EQUAL(kSetRnrTimer, IBV_QP_MIN_RNR_TIMER);
EQUAL(kSetSqPsn, IBV_QP_SQ_PSN);
EQUAL(kSetPeerReads, IBV_QP_MAX_DEST_RD_ATOMIC);
EQUAL(kSetPeerQp, IBV_QP_DEST_QPN);
SIZE(QpAttr, ibv_qp_attr);
FIELD(QpAttr, state, ibv_qp_attr, qp_state);
FIELD(QpAttr, mtu, ibv_qp_attr, path_mtu);
FIELD(QpAttr, qkey, ibv_qp_attr, qkey);
FIELD(QpAttr, rq_psn, ibv_qp_attr, rq_psn);
FIELD(QpAttr, sq_psn, ibv_qp_attr, sq_psn);
FIELD(QpAttr, peer_qp, ibv_qp_attr, dest_qp_num);
FIELD(QpAttr, access, ibv_qp_attr, qp_access_flags);
FIELD(QpAttr, address, ibv_qp_attr, ah_attr);
FIELD(QpAttr, pkey, ibv_qp_attr, pkey_index);
FIELD(QpAttr, reads, ibv_qp_attr, max_rd_atomic);
FIELD(QpAttr, peer_reads, ibv_qp_attr, max_dest_rd_atomic);
FIELD(QpAttr, rnr_timer, ibv_qp_attr, min_rnr_timer);
FIELD(QpAttr, port, ibv_qp_attr, port_num);
FIELD(QpAttr, timeout, ibv_qp_attr, timeout);
FIELD(QpAttr, retries, ibv_qp_attr, retry_cnt);
FIELD(QpAttr, rnr_retries, ibv_qp_attr, rnr_retry);

SIZE(Qp, ibv_qp);
FIELD(Qp, context, ibv_qp, context);
FIELD(Qp, number, ibv_qp, qp_num);
SIZE(QpEx, ibv_qp_ex);
FIELD(QpEx, base, ibv_qp_ex, qp_base);
FIELD(QpEx, wr_id, ibv_qp_ex, wr_id);
FIELD(QpEx, wr_flags, ibv_qp_ex, wr_flags);
FIELD(QpEx, rdma_write, ibv_qp_ex, wr_rdma_write);
FIELD(QpEx, rdma_write_imm, ibv_qp_ex, wr_rdma_write_imm);
FIELD(QpEx, send, ibv_qp_ex, wr_send);
FIELD(QpEx, set_ud_addr, ibv_qp_ex, wr_set_ud_addr);
FIELD(QpEx, set_sge, ibv_qp_ex, wr_set_sge);
FIELD(QpEx, start, ibv_qp_ex, wr_start);
FIELD(QpEx, complete, ibv_qp_ex, wr_complete);

EQUAL(kEfaSrd, EFADV_QP_DRIVER_TYPE_SRD);
EQUAL(kEfaRdmaRead, EFADV_DEVICE_ATTR_CAPS_RDMA_READ);
EQUAL(kEfaRnrRetry, EFADV_DEVICE_ATTR_CAPS_RNR_RETRY);
// Older headers lack the bit for RDMA write: then it is the one behind the last that they have.
template <class T> constexpr uint32_t write_bit(T) {
  if constexpr (requires { T::EFADV_DEVICE_ATTR_CAPS_RDMA_WRITE; }) return T::EFADV_DEVICE_ATTR_CAPS_RDMA_WRITE;
  return EFADV_DEVICE_ATTR_CAPS_CQ_WITH_SGID << 1;
}
static_assert(v::kEfaRdmaWrite == write_bit(EFADV_DEVICE_ATTR_CAPS_CQ_WITH_SGID));
SIZE(EfaDeviceAttr, efadv_device_attr);
FIELD(EfaDeviceAttr, max_sq_wr, efadv_device_attr, max_sq_wr);
FIELD(EfaDeviceAttr, max_rq_wr, efadv_device_attr, max_rq_wr);
FIELD(EfaDeviceAttr, caps, efadv_device_attr, device_caps);
FIELD(EfaDeviceAttr, max_rdma, efadv_device_attr, max_rdma_size);
SIZE(EfaQpInit, efadv_qp_init_attr);
FIELD(EfaQpInit, driver_qp_type, efadv_qp_init_attr, driver_qp_type);

int main() {
  try {
    const v::Verbs& verbs = v::verbs();
    const v::Efadv& efa = v::efadv();
#undef ibv_reg_mr
#undef ibv_query_port
#define X(result, name, ...) \
  if (reinterpret_cast<void*>(verbs.name) != reinterpret_cast<void*>(&ibv_##name)) return std::printf("ibv_" #name " differs\n"), 1;
    MK_VERBS_FUNCTIONS(X)
#undef X
    if (reinterpret_cast<void*>(verbs.query_gid_ex) != reinterpret_cast<void*>(&_ibv_query_gid_ex) ||
        reinterpret_cast<void*>(verbs.reg_dmabuf_mr) != reinterpret_cast<void*>(&ibv_reg_dmabuf_mr) ||
        reinterpret_cast<void*>(efa.query_device) != reinterpret_cast<void*>(&efadv_query_device) ||
        reinterpret_cast<void*>(efa.create_qp_ex) != reinterpret_cast<void*>(&efadv_create_qp_ex))
      return std::printf("another function differs\n"), 1;
    std::printf("ok\n");
    return 0;
  } catch (const mk::rt::Fail& f) {
    std::printf("%s\n", f.text.c_str());
    return 1;
  }
}
