// INTERNODE_BACKEND_EFA: RDMA writes over SRD, on AWS (p5 and newer), a link (srd_link.h) to each peer.
//
// The words are set by the receiver's CPU when it sees a completion. The GPU then sees the bytes too: sm_90 orders what a
// NIC has written before what the CPU writes next (CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING).
#include <algorithm>

#include "../fail.h"
#include "log.h"
#include "srd_link.h"

namespace mk::rt::net {
namespace {

using namespace verbs;

constexpr uint32_t kSends = 256, kReceives = 512;  // of a queue pair, unless the device allows less

struct EfaCard {
  uint64_t heap, slots;  // slots: 0 where the NIC reaches the heap, else those for node 0, the others lie behind
  uint32_t key, inbox_words;  // key: of either
  Gid gid;
  uint32_t qpn[kMaxNodes];  // for the peer on that node
};
static_assert(sizeof(EfaCard) <= sizeof(Card));

EfaDeviceAttr ask(Context* context) {
  EfaDeviceAttr attr{};
  if (efadv().query_device(context, &attr, sizeof attr)) attr.max_sq_wr = 0;
  return attr;
}

std::string refuse(Context* context) {
  const EfaDeviceAttr attr = ask(context);
  if (!attr.max_sq_wr) return "is no EFA device";
  return attr.caps & kEfaRdmaWrite ? "" : "has no RDMA write (p5 instances and newer have it; older drivers hide it)";
}

class Efa final : public Backend {
 public:
  explicit Efa(const Site& site) : site_(site), nic_(open_nic(site, refuse)), heap_(register_heap(nic_, *site.heap)) {
    if (!heap_.mr) slots_ = std::make_unique<HostRegion>(nic_, *site.device, srd::kAllSlots * size_t(site.nodes));
    const EfaDeviceAttr efa = ask(nic_.context.get());
    const uint32_t links = uint32_t(site.nodes - 1);
    const uint32_t each = links ? uint32_t(nic_.device.max_cqe) / links : 0;  // completions, a third of them of sends
    const uint32_t sends = std::min({kSends, efa.max_sq_wr, each / 3});
    const uint32_t receives = std::min({kReceives, efa.max_rq_wr, each - each / 3});
    const int entries = int(std::max(1u, links * (sends + receives)));
    cq_.reset(verbs::verbs().create_cq(nic_.context.get(), entries, nullptr, nullptr, 0));
    if (!cq_) fail_errno(say("completion queue on %s", nic_.name.c_str()).c_str());
    for (int node = 0; node < site.nodes; ++node)
      if (node != site.node)
        links_[node] = std::make_unique<srd::Link>(site_, nic_, efa, cq_.get(), node, sends, receives, heap_.mr ? heap_.mr->lkey : 0,
                                                   slots_ ? slots_->base() + size_t(node) * srd::kAllSlots : nullptr);
    log(site.rank, say("lane %d over %s, heap %s", site.lane, nic_.name.c_str(),
                       ((slots_ ? "through bounce buffers: " : "registered by ") + heap_.how).c_str()));
  }

  Card card() const override {
    EfaCard mine{reinterpret_cast<uint64_t>(site_.heap->base()), slots_ ? slots_->address(slots_->base()) : 0,
                 slots_ ? slots_->rkey() : heap_.mr->rkey, site_.inbox_words, nic_.gid, {}};
    for (int node = 0; node < site_.nodes; ++node)
      if (links_[node]) mine.qpn[node] = links_[node]->qpn();
    Card card{};
    std::memcpy(card.data(), &mine, sizeof mine);
    return card;
  }

  void connect(const std::vector<net::Peer>& peers) override {
    for (const net::Peer& p : peers) {
      EfaCard card;
      std::memcpy(&card, p.card.data(), sizeof card);
      if (card.inbox_words != site_.inbox_words)
        fail(MK_EMISMATCH, say("rank %d has %u arrival words, rank %d has %u", site_.rank, site_.inbox_words, p.rank,
                               card.inbox_words));
      if (card.slots && !slots_)
        log(site_.rank, say("lane %d to rank %d through bounce buffers: its NIC does not reach its heap", site_.lane, p.rank));
      links_[p.node]->connect(p.rank, {card.heap, card.slots ? card.slots + uint64_t(site_.node) * srd::kAllSlots : 0, card.key,
                                       card.qpn[site_.node], card.gid});
    }
  }

  bool post(const Write& write) override { return links_[write.node]->post(write); }

  void poll(Events& events) override {
    Wc wc[32];
    for (int n = 32; n == 32;) {
      n = cq_->context->ops.poll_cq(cq_.get(), 32, wc);
      if (n < 0) fail(MK_ESYSTEM, say("poll %s: failed", nic_.name.c_str()));
      for (int i = 0; i < n; ++i) take(wc[i], events);
    }
    for (auto& link : links_) {
      if (!link) continue;
      link->take(events);
      link->post_receives();
      link->send();
    }
  }

 private:
  void take(const Wc& wc, Events& events) {
    const bool receive = srd::Link::is_receive(wc);
    const int node = srd::Link::node(wc);
    srd::Link& link = *links_[node];
    if (wc.status != kWcSuccess && (receive || !site_.has_left(node)))
      fail(MK_EABORTED, say("rank %d: a %s rank %d over %s failed: %s (status %d, vendor's %u)", site_.rank,
                            receive ? "receive from" : "write to", link.rank(), nic_.name.c_str(),
                            verbs::verbs().wc_status_str(wc.status), wc.status, wc.vendor));
    if (receive) link.received(wc, events);
    else link.sent(wc, events);
  }

  const Site site_;
  Nic nic_;
  HeapRegion heap_;
  std::unique_ptr<HostRegion> slots_;  // that the peers fill; none where the NIC reaches the heap
  Owned<Cq> cq_;
  std::unique_ptr<srd::Link> links_[kMaxNodes];
};

}  // namespace

std::unique_ptr<Backend> efa_backend(const Site& site) { return std::make_unique<Efa>(site); }

}  // namespace mk::rt::net
