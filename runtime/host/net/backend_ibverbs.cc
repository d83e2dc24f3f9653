// INTERNODE_BACKEND_IBVERBS: RDMA writes over RC, on InfiniBand, RoCE and Soft-RoCE. A connection to each peer; the word
// is a second write on the same connection, which RC keeps in order.
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>

#include "../fail.h"
#include "log.h"
#include "rc_carrier.h"

namespace mk::rt::net {
namespace {

using namespace verbs;
using Clock = std::chrono::steady_clock;

struct RcCard {
  Target target;  // the desk is that of node 0, the others lie behind
  verbs::Gid gid;
  uint16_t lid;
  uint8_t mtu, link;
  struct {
    uint32_t qpn, psn;
  } end[kMaxNodes];  // for the peer on that node
};
static_assert(sizeof(RcCard) <= sizeof(Card));

std::string refuse(Context* context) {
  return context->device->transport == kTransportIb ? "" : "has no reliable connections (RC)";
}

class Ibverbs final : public Backend {
 public:
  explicit Ibverbs(const Site& site)
      : site_(site), nic_(open_nic(site, refuse)), heap_(register_heap(nic_, *site.heap)),
        depth_(depth()), host_(nic_, *site.device, words_at() + Connection::stage_bytes(depth_) * size_t(site.nodes)) {
    const int entries = int(depth_) * std::max(1, site.nodes - 1);
    cq_.reset(verbs::verbs().create_cq(nic_.context.get(), entries, nullptr, nullptr, 0));
    if (!cq_) fail_errno(say("completion queue of %d entries on %s", entries, nic_.name.c_str()).c_str());
    for (int node = 0; node < site.nodes; ++node) {
      if (node == site.node) continue;
      std::byte* words = host_.base() + words_at() + size_t(node) * Connection::stage_bytes(depth_);
      peers_[node].rc = std::make_unique<Connection>(nic_, cq_.get(), uint32_t(node), depth_,
                                                     reinterpret_cast<uint64_t*>(words), host_.lkey());
    }
    log(site.rank, say("lane %d over %s, address %d (%s), heap %s", site.lane, nic_.name.c_str(), nic_.gid_index,
                       text(nic_.gid).c_str(), ((heap_.mr ? "registered by " : "through bounce buffers: ") + heap_.how).c_str()));
  }

  Card card() const override {
    RcCard mine{};
    mine.target = {host_.address(site_.heap->base()), host_.address(site_.heap->base()) + site_.inbox_offset,
                   host_.address(host_.base()), heap_.mr ? heap_.mr->rkey : 0, host_.rkey(), heap_.mr != nullptr};
    for (int node = 0; node < site_.nodes; ++node) {
      if (!peers_[node].rc) continue;
      const Port port = peers_[node].rc->port();
      mine.end[node] = {port.qpn, port.psn};
      mine.gid = port.gid, mine.lid = port.lid, mine.mtu = port.mtu, mine.link = port.link;
    }
    Card card{};
    std::memcpy(card.data(), &mine, sizeof mine);
    return card;
  }

  void connect(const std::vector<net::Peer>& peers) override {
    for (const net::Peer& p : peers) {
      RcCard card;
      std::memcpy(&card, p.card.data(), sizeof card);
      Peer& peer = peers_[p.node];
      peer.rank = p.rank;
      if (card.link != nic_.attr.link)
        fail(MK_EMISMATCH, say("rank %d's NIC is on %s, that of rank %d on another network; choose with MKGEN_NICS", site_.rank,
                               nic_.attr.link == kLinkEthernet ? "Ethernet" : "InfiniBand", p.rank));
      const auto& end = card.end[site_.node];
      peer.rc->connect({card.gid, end.qpn, end.psn, card.lid, card.mtu, card.link}, site_.timeout_ms);
      peer.target = card.target;
      peer.target.desk += uint64_t(site_.node) * sizeof(Desk);
    }
  }

  // What is sent to a queue pair that is not ready to receive is lost, and sent again only after a retry time.
  void greet(const std::vector<net::Peer>& peers) override {
    for (const net::Peer& p : peers) {
      Peer& peer = peers_[p.node];
      if (!heap_.mr || !peer.target.direct) {
        if (heap_.mr)
          log(site_.rank, say("lane %d to and from rank %d through bounce buffers: its NIC does not reach its heap", site_.lane, p.rank));
        peer.rings = std::make_unique<HostRegion>(nic_, *site_.device, kRings);
        tell(peer, offsetof(Desk, ring), peer.rings->address(peer.rings->base()));
        tell(peer, offsetof(Desk, ring_key), peer.rings->rkey());
      }
      tell(peer, offsetof(Desk, hello), 1);
      peer.rc->flush();
    }
    await_hello(peers);
    const Source source{site_, host_.address(site_.heap->base()), heap_.mr ? heap_.mr->lkey : 0};
    for (const net::Peer& p : peers) {
      Peer& peer = peers_[p.node];
      peer.carrier = peer.rings ? bounce_carrier(*peer.rc, source, peer.target, desk(p.node), *peer.rings)
                                : direct_carrier(*peer.rc, source, peer.target);
    }
  }

  bool post(const Write& write) override { return peers_[write.node].carrier->post(write); }

  void poll(Events& events) override {
    drain();
    for (Peer& p : peers_)
      if (p.carrier) p.carrier->poll(events);
  }

  bool settled() const override {
    return std::all_of(std::begin(peers_), std::end(peers_), [](const Peer& p) { return !p.carrier || p.carrier->settled(); });
  }

 private:
  struct Peer {
    int rank = -1;
    Target target;
    std::unique_ptr<HostRegion> rings;  // none where writes go straight
    std::unique_ptr<Connection> rc;
    std::unique_ptr<Carrier> carrier;
  };

  // Of each send queue, so that the completions of all fit into one queue.
  uint32_t depth() const {
    return std::min({kDepth, uint32_t(nic_.device.max_qp_wr), uint32_t(nic_.device.max_cqe / std::max(1, site_.nodes - 1))});
  }

  // host_: a desk for each node, and then the words to be sent.
  size_t words_at() const { return sizeof(Desk) * size_t(site_.nodes); }
  Desk& desk(int node) { return reinterpret_cast<Desk*>(host_.base())[node]; }

  static void tell(Peer& peer, size_t at, uint64_t word) {
    peer.rc->words(word, 1, peer.target.desk + at, peer.target.desk_key, true);
  }

  // A peer that has said hello takes writes.
  void await_hello(const std::vector<net::Peer>& peers) {
    const auto until = Clock::now() + std::chrono::milliseconds(site_.timeout_ms);
    for (;;) {
      drain();
      if (site_.stop) site_.stop->check();
      std::string missing;
      for (const net::Peer& p : peers)
        if (!std::atomic_ref(desk(p.node).hello).load(std::memory_order_acquire))
          missing += say("%s%d", missing.empty() ? "" : ", ", p.rank);
      if (missing.empty()) return;
      if (Clock::now() > until)
        fail(MK_EABORTED, say("rank %d heard nothing over %s within %lu ms from rank %s", site_.rank, nic_.name.c_str(),
                              site_.timeout_ms, missing.c_str()));
      ::sched_yield();
    }
  }

  void drain() {
    Wc wc[32];
    for (int n = 32; n == 32;) {
      n = cq_->context->ops.poll_cq(cq_.get(), 32, wc);
      if (n < 0) fail(MK_ESYSTEM, say("poll %s: failed", nic_.name.c_str()));
      for (int i = 0; i < n; ++i) {
        const int node = int(Connection::number(wc[i]));
        Peer& peer = peers_[node];
        if (wc[i].status != kWcSuccess && !site_.has_left(node))
          fail(MK_EABORTED, say("rank %d: a write to rank %d over %s failed: %s (status %d, vendor's %u)", site_.rank, peer.rank,
                                nic_.name.c_str(), verbs::verbs().wc_status_str(wc[i].status), wc[i].status, wc[i].vendor));
        peer.rc->complete(wc[i]);
      }
    }
  }

  // Torn down from the bottom up: connections end before the memory they reach is let go.
  const Site site_;
  Nic nic_;
  HeapRegion heap_;
  uint32_t depth_;
  HostRegion host_;
  Owned<Cq> cq_;
  Peer peers_[kMaxNodes];
};

}  // namespace

std::unique_ptr<Backend> ibverbs_backend(const Site& site) { return std::make_unique<Ibverbs>(site); }

}  // namespace mk::rt::net
