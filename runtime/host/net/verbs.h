// The part of libibverbs that libmkrt uses, found in libibverbs.so.1 at run time, so that neither building nor starting
// needs RDMA software. Layouts and numbers are the library's binary interface; names are those of infiniband/verbs.h
// without ibv_ and IBV_. tests/rdma/abi compares all of it with the real header.
#pragma once
#include <pthread.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace mk::rt::verbs {

struct alignas(8) Gid {
  uint8_t raw[16];
};
enum : uint32_t { kGidIb, kGidRoceV1, kGidRoceV2 };
struct GidEntry {
  Gid gid;
  uint32_t index, port, type, netdev;  // netdev: of the system's interface list, 0 without one
};

enum { kTransportIb = 0, kTransportUnspecified = 4 };  // InfiniBand and RoCE; what is neither (EFA)
struct Device {
  void* ops[2];
  int node_type, transport;
  char name[64], dev_name[64], dev_path[256], ibdev_path[256];
};

struct Context;
struct Qp;
struct Cq;
struct Wc;
struct SendWr;
struct RecvWr;
struct ContextOps {
  void* before[11];
  int (*poll_cq)(Cq*, int, Wc*);
  void* between[13];
  int (*post_send)(Qp*, SendWr*, SendWr**);
  int (*post_recv)(Qp*, RecvWr*, RecvWr**);
  void* behind[5];
};
struct Context {
  Device* device;
  ContextOps ops;
  int cmd_fd, async_fd, comp_vectors;
  pthread_mutex_t mutex;
  void* compat;
};

struct DeviceAttr {
  char firmware[64];
  uint64_t node_guid, image_guid, max_mr_size, page_sizes;
  uint32_t vendor, part, hardware;
  int max_qp, max_qp_wr;
  uint32_t caps;
  int max_sge, max_sge_rd, max_cq, max_cqe, rest[22];
  uint16_t max_pkeys;
  uint8_t ack_delay, ports;
};

enum { kPortActive = 4 };
enum : uint8_t { kLinkInfiniband = 1, kLinkEthernet = 2 };
struct PortAttr {
  int state, max_mtu, active_mtu, gids;  // MTU: 1 is 256 bytes, 5 is 4096
  uint32_t caps, max_message, bad_pkeys, qkey_violations;
  uint16_t pkeys, lid, sm_lid;
  uint8_t lmc, max_vl, sm_sl, subnet_timeout, init_reply, width, speed, phys_state, link, flags;
  uint16_t caps2;
};

struct Pd {
  Context* context;
  uint32_t handle;
};
enum { kLocalWrite = 1, kRemoteWrite = 2 };  // access to memory
struct Mr {
  Context* context;
  Pd* pd;
  void* addr;
  size_t length;
  uint32_t handle, lkey, rkey;
};

struct Cq {
  Context* context;
  void *channel, *cq_context;
  uint32_t handle;
  int cqe;
  pthread_mutex_t mutex;
  pthread_cond_t cond;
  uint32_t events, async_events;
};
enum { kWcSuccess = 0, kWcFlushed = 5 };                                           // status
enum { kWcSend = 0, kWcRdmaWrite = 1, kWcRecv = 128, kWcRecvRdmaWithImm = 129 };  // opcode
struct Wc {
  uint64_t wr_id;
  int status, opcode;
  uint32_t vendor, bytes, imm, qp_num, src_qp, flags;  // imm: big-endian
  uint16_t pkey, slid;
  uint8_t sl, path;
};

struct Sge {
  uint64_t addr;
  uint32_t length, lkey;
};
enum { kRdmaWrite = 0 };                     // SendWr::opcode
enum : uint32_t { kSignaled = 2, kInline = 8 };  // SendWr::flags, QpEx::wr_flags
struct SendWr {
  uint64_t wr_id;
  SendWr* next;
  Sge* sges;
  int sge_count, opcode;
  uint32_t flags, imm;
  struct {
    uint64_t addr;
    uint32_t rkey;
    uint64_t unused[2];
  } remote;
  void* unused[7];
};
struct RecvWr {
  uint64_t wr_id;
  RecvWr* next;
  Sge* sges;
  int sge_count;
};

struct GlobalRoute {
  Gid dgid;
  uint32_t flow_label;
  uint8_t sgid_index, hop_limit, traffic_class;
};
struct AhAttr {
  GlobalRoute grh;
  uint16_t dlid;
  uint8_t sl, path_bits, rate, is_global, port;
};
struct Ah;

enum { kQpRc = 2, kQpDriver = 255 };
struct QpCap {
  uint32_t send_wr, recv_wr, send_sge, recv_sge, inline_data;
};
struct QpInit {
  void* qp_context;
  Cq *send_cq, *recv_cq;
  void* srq;
  QpCap cap;
  int type, all_signaled;
};
enum : uint32_t { kInitPd = 1, kInitSendOps = 64 };                               // QpInitEx::mask
enum : uint64_t { kOpRdmaWrite = 1, kOpRdmaWriteImm = 2, kOpSend = 4 };           // QpInitEx::send_ops
struct QpInitEx {
  void* qp_context;
  Cq *send_cq, *recv_cq;
  void* srq;
  QpCap cap;
  int type, all_signaled;
  uint32_t mask;
  Pd* pd;
  void* xrcd;
  uint32_t create_flags;
  uint16_t tso;
  void* rwq;
  uint64_t hash[3];
  uint32_t source_qpn;
  uint64_t send_ops;
};
enum { kInit = 1, kReadyToReceive = 2, kReadyToSend = 3 };  // QpAttr::state
enum {                                                      // what modify_qp is to look at
  kSetState = 1 << 0, kSetAccess = 1 << 3, kSetPkey = 1 << 4, kSetPort = 1 << 5, kSetQkey = 1 << 6, kSetAddress = 1 << 7,
  kSetMtu = 1 << 8, kSetTimeout = 1 << 9, kSetRetries = 1 << 10, kSetRnrRetries = 1 << 11, kSetRqPsn = 1 << 12,
  kSetReads = 1 << 13, kSetRnrTimer = 1 << 15, kSetSqPsn = 1 << 16, kSetPeerReads = 1 << 17, kSetPeerQp = 1 << 20,
};
struct QpAttr {
  int state, current, mtu, migration;
  uint32_t qkey, rq_psn, sq_psn, peer_qp, access;
  QpCap cap;
  AhAttr address, alternate;
  uint16_t pkey, alt_pkey;
  uint8_t notify, draining, reads, peer_reads, rnr_timer, port, timeout, retries, rnr_retries, alt_port, alt_timeout;
  uint32_t rate;
};
struct Qp {
  Context* context;
  void* qp_context;
  Pd* pd;
  Cq *send_cq, *recv_cq;
  void* srq;
  uint32_t handle, number;
  int state, type;
  pthread_mutex_t mutex;
  pthread_cond_t cond;
  uint32_t events;
};
// A queue pair that takes work through calls: start, what to do, set..., complete.
struct QpEx {
  Qp base;
  uint64_t mask, wr_id;
  uint32_t wr_flags;
  void* before[5];
  void (*rdma_write)(QpEx*, uint32_t rkey, uint64_t addr);
  void (*rdma_write_imm)(QpEx*, uint32_t rkey, uint64_t addr, uint32_t imm);
  void (*send)(QpEx*);
  void* between[3];
  void (*set_ud_addr)(QpEx*, Ah*, uint32_t qpn, uint32_t qkey);
  void* between2[3];
  void (*set_sge)(QpEx*, uint32_t lkey, uint64_t addr, uint32_t length);
  void* between3;
  void (*start)(QpEx*);
  int (*complete)(QpEx*);
  void* behind[2];
};

// result, name, arguments.
#define MK_VERBS_FUNCTIONS(X)                                                            \
  X(Device**, get_device_list, int*)                                                     \
  X(void, free_device_list, Device**)                                                    \
  X(Context*, open_device, Device*)                                                      \
  X(int, close_device, Context*)                                                         \
  X(int, query_device, Context*, DeviceAttr*)                                            \
  X(int, query_port, Context*, uint8_t, PortAttr*)                                       \
  X(Pd*, alloc_pd, Context*)                                                             \
  X(int, dealloc_pd, Pd*)                                                                \
  X(Mr*, reg_mr, Pd*, void*, size_t, int)                                                \
  X(int, dereg_mr, Mr*)                                                                  \
  X(Cq*, create_cq, Context*, int, void*, void*, int)                                    \
  X(int, destroy_cq, Cq*)                                                                \
  X(Qp*, create_qp, Pd*, QpInit*)                                                        \
  X(int, modify_qp, Qp*, QpAttr*, int)                                                   \
  X(int, destroy_qp, Qp*)                                                                \
  X(QpEx*, qp_to_qp_ex, Qp*)                                                             \
  X(Ah*, create_ah, Pd*, AhAttr*)                                                        \
  X(int, destroy_ah, Ah*)                                                                \
  X(const char*, wc_status_str, int)

struct Verbs {
#define X(result, name, ...) result (*name)(__VA_ARGS__);
  MK_VERBS_FUNCTIONS(X)
#undef X
  int (*query_gid_ex)(Context*, uint32_t port, uint32_t index, GidEntry*, uint32_t flags, size_t entry_size);
  Mr* (*reg_dmabuf_mr)(Pd*, uint64_t offset, size_t, uint64_t iova, int fd, int access);  // null where it is too old
};

// Loads the library once; throws MK_EUNAVAILABLE where there is none.
const Verbs& verbs();

}  // namespace mk::rt::verbs
