#include "rc.h"

#include <algorithm>
#include <random>

#include "../fail.h"

namespace mk::rt::net {

using namespace verbs;

namespace {

constexpr uint32_t kPiece = 1 << 20;  // large enough for the full rate, small enough that peers take turns
constexpr uint8_t kRetries = 6;       // 7 means for ever to Soft-RoCE
constexpr uint8_t kHops = 64;

// Exponent of the time after which an unanswered packet is sent again, 4.096 us * 2^t: all tries together take at most
// timeout_ms, and at least half of it.
uint8_t retry_time(uint64_t timeout_ms) {
  uint8_t t = 1;
  while (t < 31 && 4.096e-3 * double(2ull << t) * (kRetries + 1) <= double(timeout_ms)) ++t;
  return t;
}

// The queue pair, with room for words inside of its work requests where the device has that.
Qp* create(const Nic& nic, Cq* cq, uint32_t depth, uint32_t& inline_bytes) {
  for (uint32_t want : {uint32_t(kWordsAtOnce * sizeof(uint64_t)), 0u}) {
    QpInit init{};
    init.send_cq = init.recv_cq = cq;
    init.cap = {depth, 1, 1, 1, want};
    init.type = kQpRc;
    inline_bytes = want;
    if (Qp* qp = verbs::verbs().create_qp(nic.pd.get(), &init)) return qp;
  }
  fail_errno(say("queue pair on %s", nic.name.c_str()).c_str());
}

}  // namespace

Connection::Connection(const Nic& nic, Cq* cq, uint32_t number, uint32_t depth, uint64_t* words, uint32_t lkey)
    : nic_(nic), qp_(create(nic, cq, depth, inline_bytes_)), number_(number), depth_(depth),
      piece_(nic.attr.max_message ? std::min(kPiece, nic.attr.max_message) : kPiece),
      psn_(std::random_device{}() & 0xffffff), words_(words), words_lkey_(lkey) {
  QpAttr a{};
  a.state = kInit;
  a.port = nic.port;
  a.access = kRemoteWrite;
  if (int r = verbs::verbs().modify_qp(qp_.get(), &a, kSetState | kSetPkey | kSetPort | kSetAccess))
    fail(MK_ESYSTEM, say("initialise a queue pair on %s: %s", nic.name.c_str(), std::strerror(r)));
}

Port Connection::port() const {
  return {nic_.gid, qp_->number, psn_, nic_.attr.lid, uint8_t(nic_.attr.active_mtu), nic_.attr.link};
}

void Connection::connect(const Port& peer, uint64_t timeout_ms) {
  const Verbs& v = verbs::verbs();
  const bool ethernet = nic_.attr.link == kLinkEthernet;
  QpAttr a{};
  a.state = kReadyToReceive;
  a.mtu = std::min<int>(nic_.attr.active_mtu, peer.mtu);
  a.peer_qp = peer.qpn;
  a.rq_psn = peer.psn;
  a.peer_reads = 1;
  a.rnr_timer = 12;
  a.address.port = nic_.port;
  a.address.dlid = peer.lid;
  // Within an InfiniBand subnet, whose number is the first half of a GID, the LID is enough.
  a.address.is_global = ethernet || std::memcmp(peer.gid.raw, nic_.gid.raw, 8) != 0;
  a.address.grh = {peer.gid, 0, nic_.gid_index, kHops, 0};
  const auto failed = [&](int r) {
    fail(MK_ESYSTEM, say("connect %s (%s) to a peer at %s: %s; do the two addresses reach each other (MKGEN_GID_INDEX)?",
                         nic_.name.c_str(), text(nic_.gid).c_str(), text(peer.gid).c_str(), std::strerror(r)));
  };
  if (int r = v.modify_qp(qp_.get(), &a, kSetState | kSetAddress | kSetMtu | kSetPeerQp | kSetRqPsn | kSetPeerReads | kSetRnrTimer))
    failed(r);
  a = {};
  a.state = kReadyToSend;
  a.timeout = retry_time(timeout_ms);
  a.retries = kRetries;
  a.rnr_retries = 7;
  a.sq_psn = psn_;
  a.reads = 1;
  if (int r = v.modify_qp(qp_.get(), &a, kSetState | kSetTimeout | kSetRetries | kSetRnrRetries | kSetSqPsn | kSetReads)) failed(r);
}

void Connection::bytes(uint64_t from, uint32_t lkey, uint64_t to, uint32_t rkey, uint32_t bytes, bool signal) {
  queue(from, lkey, to, rkey, bytes, 0, signal);
}

void Connection::words(uint64_t value, uint32_t count, uint64_t to, uint32_t rkey, bool signal) {
  uint64_t* stage = words_ + (put_ % depth_) * kWordsAtOnce;  // not read any more: its last use has completed
  std::fill_n(stage, count, value);
  const uint32_t bytes = count * uint32_t(sizeof *stage);
  queue(reinterpret_cast<uint64_t>(stage), words_lkey_, to, rkey, bytes, bytes <= inline_bytes_ ? uint32_t(kInline) : 0, signal);
}

void Connection::queue(uint64_t from, uint32_t lkey, uint64_t to, uint32_t rkey, uint32_t bytes, uint32_t flags, bool signal) {
  ++put_;
  if (signal || put_ - signaled_ >= depth_ / 4) {  // now and then in any case: only a signal makes room again
    flags |= kSignaled;
    signaled_ = put_;
  }
  SendWr& wr = batch_[batched_];
  sges_[batched_] = {from, bytes, lkey};
  wr = {};
  wr.wr_id = uint64_t(number_) << kCountBits | put_;
  wr.sges = &sges_[batched_];
  wr.sge_count = 1;
  wr.opcode = kRdmaWrite;
  wr.flags = flags;
  wr.remote.addr = to;
  wr.remote.rkey = rkey;
  if (batched_) batch_[batched_ - 1].next = &wr;
  if (++batched_ == kBatch) flush();
}

void Connection::flush() {
  if (!batched_) return;
  batched_ = 0;
  SendWr* bad = nullptr;
  if (int r = qp_->context->ops.post_send(qp_.get(), batch_, &bad))
    fail(MK_ESYSTEM, say("post to %s: %s", nic_.name.c_str(), std::strerror(r)));
}

void Connection::complete(const Wc& wc) { completed_ = wc.wr_id & ((1ull << kCountBits) - 1); }

}  // namespace mk::rt::net
