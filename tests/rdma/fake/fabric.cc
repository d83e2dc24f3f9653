#include <infiniband/efadv.h>
#include <infiniband/verbs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "fake.h"

FakeSettings fake_settings;
FakeCounts fake_counts;

namespace {

constexpr size_t kPacket = 8192;

struct Cq : ibv_cq {
  std::deque<ibv_wc> entries;
};
struct Qp;
struct Work {  // one request on its way
  ibv_wc sent{};
  Qp *from = nullptr, *to = nullptr;
  bool note = false;
  const char* data = nullptr;
  char* target = nullptr;
  uint32_t length = 0, imm = 0;
  std::vector<size_t> packets;  // offsets still to arrive
  bool arrived = false;
};
struct Qp {
  ibv_qp_ex ex{};  // first: the address of the queue pair
  uint32_t depth = 0, receives_max = 0, outstanding = 0, qkey = 0;
  std::deque<std::pair<ibv_recv_wr, ibv_sge>> receives;
  Work next;  // between start and complete
  uint32_t next_qpn = 0, next_key = 0, next_lkey = 0;
  uint64_t next_remote = 0;
  bool bad = false;
};

FakeCounts& counts = fake_counts;
std::mt19937_64 random_number;
uint64_t seeded = 0;
std::map<uint32_t, Qp*> qps;
std::map<uint32_t, ibv_mr*> mrs;  // by key
std::vector<Work> under_way;
std::deque<Work> to_tell;
uint32_t numbers = 100;
ibv_device devices[2];

uint64_t draw(uint64_t below) {
  if (seeded != fake_settings.seed) random_number.seed(seeded = fake_settings.seed);
  return random_number() % below;
}

char* reach(uint32_t key, uint64_t at, uint64_t length, int access, ibv_pd* pd) {
  auto it = mrs.find(key);
  if (it == mrs.end() || (pd && it->second->pd != pd) || !(it->second->handle & unsigned(access))) return nullptr;
  const uint64_t first = reinterpret_cast<uint64_t>(it->second->addr);
  return at >= first && at - first <= it->second->length && length <= it->second->length - (at - first) ? reinterpret_cast<char*>(at) : nullptr;
}

// The receiver's side of a request whose bytes are there. False where it has to wait for a receive.
bool announce(Work& w) {
  Qp& to = *w.to;
  if (to.receives.empty()) return ++counts.late, false;
  auto [wr, sge] = to.receives.front();
  to.receives.pop_front();
  ibv_wc wc{};
  wc.wr_id = wr.wr_id;
  wc.qp_num = to.ex.qp_base.qp_num;
  wc.byte_len = w.length;
  if (w.note) {
    std::memcpy(reinterpret_cast<void*>(sge.addr), w.data, w.length);
    wc.opcode = IBV_WC_RECV;
    ++counts.notes;
  } else {
    wc.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
    wc.wc_flags = IBV_WC_WITH_IMM;
    wc.imm_data = w.imm;
    ++counts.immediates;
  }
  static_cast<Cq*>(to.ex.qp_base.recv_cq)->entries.push_back(wc);
  return true;
}

// One packet or one completion, any one.
void progress() {
  if (!to_tell.empty() && (under_way.empty() || draw(3) == 0)) {
    const size_t i = fake_settings.in_order ? 0 : draw(to_tell.size());
    Work w = to_tell[i];
    to_tell.erase(to_tell.begin() + long(i));
    if (w.from) {
      --w.from->outstanding;
      static_cast<Cq*>(w.from->ex.qp_base.send_cq)->entries.push_back(w.sent);
    }
    return;
  }
  if (under_way.empty()) return;
  const size_t i = fake_settings.in_order ? 0 : draw(under_way.size());
  Work& w = under_way[i];
  if (!w.to) {
    w.sent.status = IBV_WC_REM_ABORT_ERR;  // the far end is gone
  } else if (!w.packets.empty()) {
    const size_t p = fake_settings.in_order ? 0 : draw(w.packets.size());
    const size_t at = w.packets[p];
    if (!w.note) std::memcpy(w.target + at, w.data + at, std::min<size_t>(kPacket, w.length - at));
    w.packets.erase(w.packets.begin() + long(p));
    return;
  } else if (!announce(w)) {
    return;
  }
  to_tell.push_back(std::move(w));
  under_way.erase(under_way.begin() + long(i));
}

int poll_cq(ibv_cq* base, int most, ibv_wc* wc) {
  for (uint64_t i = draw(12); i > 0; --i) progress();
  auto& entries = static_cast<Cq*>(base)->entries;
  int n = 0;
  for (; n < most && !entries.empty(); ++n, entries.pop_front()) wc[n] = entries.front();
  return n;
}

int post_recv(ibv_qp* base, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  Qp& q = *reinterpret_cast<Qp*>(base);
  for (; wr; wr = wr->next) {
    *bad = wr;
    if (q.receives.size() >= q.receives_max) return ENOMEM;
    if (wr->num_sge != 1 || !reach(wr->sg_list->lkey, wr->sg_list->addr, wr->sg_list->length, IBV_ACCESS_LOCAL_WRITE, base->pd)) return EINVAL;
    q.receives.push_back({*wr, *wr->sg_list});
  }
  return 0;
}

Qp& qp(ibv_qp_ex* ex) { return *reinterpret_cast<Qp*>(ex); }

void wr_start(ibv_qp_ex* ex) {
  qp(ex).next = {};
  qp(ex).bad = false;
}
void wr_rdma_write_imm(ibv_qp_ex* ex, uint32_t key, uint64_t at, __be32 imm) {
  qp(ex).next.imm = imm;
  qp(ex).next_key = key;
  qp(ex).next_remote = at;
  qp(ex).bad = !(ex->wr_flags & IBV_SEND_SIGNALED) || (ex->wr_flags & IBV_SEND_INLINE);
}
void wr_send(ibv_qp_ex* ex) {
  qp(ex).next.note = true;
  qp(ex).bad = !(ex->wr_flags & IBV_SEND_SIGNALED) || (ex->wr_flags & IBV_SEND_INLINE);
}
void wr_set_sge(ibv_qp_ex* ex, uint32_t key, uint64_t at, uint32_t length) {
  qp(ex).next.length = length;
  qp(ex).next.data = reach(key, at, length, ~0, ex->qp_base.pd);
}
void wr_set_ud_addr(ibv_qp_ex* ex, ibv_ah* ah, uint32_t qpn, uint32_t qkey) {
  qp(ex).next_qpn = qpn;
  qp(ex).bad |= !ah || ah->pd != ex->qp_base.pd || !qps.count(qpn) || qps[qpn]->qkey != qkey;
}
int wr_complete(ibv_qp_ex* ex) {
  Qp& q = qp(ex);
  Work& w = q.next;
  if (q.outstanding >= q.depth || (q.outstanding >= q.depth / 2 && draw(4) == 0)) return ++counts.full, ENOMEM;
  if (ex->qp_base.state != IBV_QPS_RTS || !w.data || w.length == 0 || w.length > fake_settings.max_rdma) return EINVAL;
  w.to = qps.count(q.next_qpn) ? qps[q.next_qpn] : nullptr;
  if (q.bad && w.to) return EINVAL;
  if (w.to && !w.note) {
    w.target = reach(q.next_key, q.next_remote, w.length, IBV_ACCESS_REMOTE_WRITE, w.to->ex.qp_base.pd);
    if (!w.target) return EINVAL;
  }
  w.from = &q;
  w.sent.wr_id = ex->wr_id;
  w.sent.qp_num = ex->qp_base.qp_num;
  w.sent.opcode = w.note ? IBV_WC_SEND : IBV_WC_RDMA_WRITE;
  for (size_t at = 0; at < w.length; at += kPacket) w.packets.push_back(at);
  under_way.push_back(w);
  ++q.outstanding;
  ++counts.writes;
  return 0;
}

template <class T> int gone(T* x) {
  delete x;
  --counts.alive;
  return 0;
}

}  // namespace

extern "C" {

// What libefa.so.1 is made of.
int fake_query_device(ibv_context* context, efadv_device_attr* attr, uint32_t size) {
  if (size < sizeof *attr) return EINVAL;
  if (context->device == &devices[1]) return EOPNOTSUPP;  // some other device
  *attr = {};
  attr->max_sq_wr = fake_settings.sends;
  attr->max_rq_wr = fake_settings.receives;
  attr->max_sq_sge = attr->max_rq_sge = 1;
  attr->device_caps = EFADV_DEVICE_ATTR_CAPS_RDMA_READ | EFADV_DEVICE_ATTR_CAPS_RNR_RETRY | (fake_settings.no_write ? 0 : 1 << 3);
  attr->max_rdma_size = uint32_t(fake_settings.max_rdma);
  return 0;
}

ibv_qp* fake_create_qp(ibv_context* context, ibv_qp_init_attr_ex* init, efadv_qp_init_attr* efa, uint32_t size) {
  if (size < sizeof *efa || init->qp_type != IBV_QPT_DRIVER || efa->driver_qp_type != EFADV_QP_DRIVER_TYPE_SRD ||
      init->comp_mask != (IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) ||
      (init->send_ops_flags & (IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND)) != init->send_ops_flags ||
      init->cap.max_send_wr > fake_settings.sends || init->cap.max_recv_wr > fake_settings.receives || init->cap.max_send_sge != 1) {
    errno = EINVAL;
    return nullptr;
  }
  Qp* q = new Qp;
  ++counts.alive;
  q->ex.qp_base.context = context;
  q->ex.qp_base.pd = init->pd;
  q->ex.qp_base.send_cq = init->send_cq;
  q->ex.qp_base.recv_cq = init->recv_cq;
  q->ex.qp_base.qp_num = ++numbers;
  q->depth = init->cap.max_send_wr;
  q->receives_max = init->cap.max_recv_wr;
  q->ex.wr_start = wr_start;
  q->ex.wr_rdma_write_imm = wr_rdma_write_imm;
  q->ex.wr_send = wr_send;
  q->ex.wr_set_sge = wr_set_sge;
  q->ex.wr_set_ud_addr = wr_set_ud_addr;
  q->ex.wr_complete = wr_complete;
  qps[numbers] = q;
  return &q->ex.qp_base;
}

ibv_device** ibv_get_device_list(int* count) {
  auto** list = new ibv_device*[3]{&devices[0], &devices[1], nullptr};
  for (int i = 0; i < 2; ++i) {
    std::strcpy(devices[i].name, i ? "other0" : "efa0");
    devices[i].transport_type = IBV_TRANSPORT_UNSPECIFIED;
    std::strcpy(devices[i].ibdev_path, i ? "/sys/class/infiniband/other0" : "/sys/class/infiniband/efa0");
  }
  *count = 2;
  return list;
}
void ibv_free_device_list(ibv_device** list) { delete[] list; }
ibv_context* ibv_open_device(ibv_device* device) {
  auto* c = new ibv_context{};
  ++counts.alive;
  c->device = device;
  c->ops.poll_cq = poll_cq;
  c->ops.post_recv = post_recv;
  return c;
}
int ibv_close_device(ibv_context* c) { return gone(c); }
int ibv_query_device(ibv_context*, ibv_device_attr* attr) {
  *attr = {};
  attr->phys_port_cnt = 1;
  attr->max_cqe = 4096;
  attr->max_qp_wr = 4096;
  return 0;
}
#undef ibv_query_port
int ibv_query_port(ibv_context* c, uint8_t, _compat_ibv_port_attr* out) {
  auto* attr = reinterpret_cast<ibv_port_attr*>(out);
  attr->state = c->device == &devices[0] && fake_settings.port_down ? IBV_PORT_DOWN : IBV_PORT_ACTIVE;
  attr->gid_tbl_len = 1;
  attr->link_layer = IBV_LINK_LAYER_UNSPECIFIED;
  return 0;
}
int _ibv_query_gid_ex(ibv_context*, uint32_t, uint32_t index, ibv_gid_entry* entry, uint32_t, size_t size) {
  if (size != sizeof *entry || index != 0) return EINVAL;
  *entry = {};
  entry->gid.raw[0] = 0xfe, entry->gid.raw[1] = 0x80, entry->gid.raw[15] = 1;
  return 0;
}
ibv_pd* ibv_alloc_pd(ibv_context* c) {
  auto* pd = new ibv_pd{c, 0};
  ++counts.alive;
  return pd;
}
int ibv_dealloc_pd(ibv_pd* pd) { return gone(pd); }
#undef ibv_reg_mr
ibv_mr* ibv_reg_mr(ibv_pd* pd, void* addr, size_t length, int access) {
  char first;
  const iovec here{&first, 1}, there{addr, 1};
  if (::process_vm_readv(::getpid(), &here, 1, &there, 1, 0) != 1) return nullptr;  // EFAULT
  ++counts.alive;
  ++numbers;
  return mrs[numbers] = new ibv_mr{pd->context, pd, addr, length, uint32_t(access), numbers, numbers};
}
int ibv_dereg_mr(ibv_mr* mr) {
  mrs.erase(mr->lkey);
  return gone(mr);
}
ibv_cq* ibv_create_cq(ibv_context* c, int entries, void*, ibv_comp_channel*, int) {
  auto* cq = new Cq{};
  ++counts.alive;
  cq->context = c;
  cq->cqe = entries;
  return cq;
}
int ibv_destroy_cq(ibv_cq* cq) { return gone(static_cast<Cq*>(cq)); }
ibv_qp* ibv_create_qp(ibv_pd*, ibv_qp_init_attr*) {
  errno = EOPNOTSUPP;
  return nullptr;
}
int ibv_modify_qp(ibv_qp* base, ibv_qp_attr* attr, int mask) {
  if (!(mask & IBV_QP_STATE) || attr->qp_state != base->state + 1) return EINVAL;
  if (attr->qp_state == IBV_QPS_INIT) reinterpret_cast<Qp*>(base)->qkey = attr->qkey;
  if (attr->qp_state == IBV_QPS_RTS && (!(mask & IBV_QP_RNR_RETRY) || attr->rnr_retry != 7)) return EINVAL;
  base->state = attr->qp_state;
  return 0;
}
int ibv_destroy_qp(ibv_qp* base) {
  Qp* q = reinterpret_cast<Qp*>(base);
  qps.erase(base->qp_num);
  std::erase_if(under_way, [&](const Work& w) { return w.from == q; });
  std::erase_if(to_tell, [&](const Work& w) { return w.from == q; });
  for (Work& w : under_way)
    if (w.to == q) w.to = nullptr;
  return gone(q);
}
ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* base) { return &reinterpret_cast<Qp*>(base)->ex; }
ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* attr) {
  if (!attr->is_global || attr->port_num != 1) {
    errno = EINVAL;
    return nullptr;
  }
  ++counts.alive;
  return new ibv_ah{pd->context, pd, 0};
}
int ibv_destroy_ah(ibv_ah* ah) { return gone(ah); }
const char* ibv_wc_status_str(ibv_wc_status status) { return status == IBV_WC_REM_ABORT_ERR ? "remote abort" : "other"; }

}  // extern "C"
