#include "srd_link.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "../fail.h"

namespace mk::rt::net::srd {
namespace {

constexpr uint32_t kPiece = 4 << 20;
constexpr uint32_t kQkey = 0x11b9e4;  // all ranks the same

}  // namespace

using namespace verbs;

Link::Link(const Site& site, const Nic& nic, const EfaDeviceAttr& efa, Cq* cq, int node, uint32_t sends, uint32_t receives, uint32_t heap_key,
           const std::byte* slots)
    : nic_(nic), device_(*site.device), node_(node), limit_(sends - sends / 4), piece_(efa.max_rdma ? std::min(kPiece, efa.max_rdma) : kPiece),
      notes_(nic, *site.device, (kAtOnce + kSlots + receives) * sizeof(Note)), sender_(site.inbox_words), receiver_(site.inbox_words),
      heap_(site.heap->base()), heap_key_(heap_key) {
  if (slots) arriving_ = std::make_unique<Arriving>(slots, *site.device, *site.heap);
  for (uint32_t i = 0; i < kSlots; ++i) give_back_note(i) = {0, i, 0, 0, 0};
  QpInitEx init{};
  init.send_cq = init.recv_cq = cq;
  init.cap = {sends, receives, 1, 1, 0};
  init.type = kQpDriver;
  init.mask = kInitPd | kInitSendOps;
  init.pd = nic.pd.get();
  init.send_ops = kOpRdmaWriteImm | kOpSend;
  EfaQpInit srd{0, kEfaSrd, {}};
  qp_.reset(efadv().create_qp_ex(nic.context.get(), &init, &srd, sizeof srd));
  if (!qp_) fail_errno(say("SRD queue pair on %s", nic.name.c_str()).c_str());
  ex_ = verbs::verbs().qp_to_qp_ex(qp_.get());
  if (!ex_) fail(MK_EUNAVAILABLE, say("%s: rdma-core is too old for RDMA writes over EFA", nic.name.c_str()));
  // Nothing of the peer is needed, so it may write as soon as it has the card.
  QpAttr a{};
  a.state = kInit;
  a.port = nic.port;
  a.qkey = kQkey;
  step(a, kSetState | kSetPkey | kSetPort | kSetQkey);
  a = {};
  a.state = kReadyToReceive;
  step(a, kSetState);
  a = {};
  a.state = kReadyToSend;
  a.rnr_retries = 7;  // a receiver that is slow to take immediates is waited for; a dead one is the control connection's business
  step(a, kSetState | kSetSqPsn | (efa.caps & kEfaRnrRetry ? kSetRnrRetries : 0));
  for (uint32_t i = 0; i < receives; ++i) free_receives_.push_back(i);
  post_receives();
}

void Link::step(QpAttr& attr, int what) {
  if (int r = verbs::verbs().modify_qp(qp_.get(), &attr, what))
    fail(MK_ESYSTEM, say("bring up an SRD queue pair on %s: %s", nic_.name.c_str(), std::strerror(r)));
}

void Link::connect(int rank, const Target& peer) {
  rank_ = rank;
  peer_ = peer;
  if (arriving_ || peer.slots) {
    leaving_ = std::make_unique<Leaving>(nic_, device_, peer.slots != 0);
    piece_ = std::min(piece_ - uint32_t(sizeof(Head)), kPayload);
  }
  AhAttr a{};
  a.is_global = 1;
  a.port = nic_.port;
  a.grh.dgid = peer.gid;
  a.grh.sgid_index = nic_.gid_index;
  ah_.reset(verbs::verbs().create_ah(nic_.pd.get(), &a));
  if (!ah_) fail_errno(say("address of rank %d for %s", rank, nic_.name.c_str()).c_str());
}

bool Link::post(const Write& write) {
  const auto free = std::find_if(std::begin(sendings_), std::end(sendings_), [](const Sending& s) { return !s.write.id; });
  if (free == std::end(sendings_) || !sender_.takes(write)) return false;
  *free = {};
  free->write = write;
  const uint32_t pieces = uint32_t((write.bytes + piece_ - 1) / piece_);
  free->imm = sender_.start(write, pieces, note(free));
  free->to_note = note(free).words != 0;
  waiting_.push_back(uint32_t(free - sendings_));
  send();
  return true;
}

void Link::send() {
  for (; !empty_.empty() && post_note(kNobody, give_back_note(empty_.front())); empty_.pop_front()) {
  }
  while (!waiting_.empty()) {
    Sending& s = sendings_[waiting_.front()];
    const uint32_t n = uint32_t(std::min<uint64_t>(s.write.bytes - s.sent, piece_));
    if (n ? !start_piece(s, n) : !post_note(waiting_.front(), note(&s))) break;
    ++s.flying;
    if (n) s.sent += n;
    else s.to_note = false;
    s.posted = s.sent == s.write.bytes && !s.to_note;
    if (s.posted) waiting_.pop_front();
  }
  while (const Leaving::Piece* p = leaving_ ? leaving_->next() : nullptr) {
    if (!post_slot(*p)) return;
    leaving_->posted();
  }
}

void Link::sent(const Wc& wc, Events& events) {
  --flying_;
  const uint32_t id = uint32_t(wc.wr_id);
  if (const uint32_t slot = id >> 8) leaving_->sent(slot - 1);
  if (uint8_t(id) == kNobody) return;
  Sending& s = sendings_[uint8_t(id)];
  if (--s.flying || !s.posted) return;
  sender_.end(s.write);
  events.done(s.write.id);
  s.write.id = 0;
}

void Link::received(const Wc& wc, Events& events) {
  const uint32_t index = uint32_t(wc.wr_id);
  const Note& note = receive_note(index);
  if (wc.opcode == kWcRecvRdmaWithImm) {
    if (arriving_) arriving_->filled(ntohl(wc.imm));
    else receiver_.immediate(ntohl(wc.imm), events);
  } else if (peer_.slots && !note.words) {
    leaving_->given_back(note.slot);
  } else if (arriving_) {
    arriving_->note(note);
  } else {
    receiver_.note(note, events);
  }
  free_receives_.push_back(index);
}

void Link::post_receives() {
  for (; !free_receives_.empty(); free_receives_.pop_back()) {
    Sge sge{notes_.address(&receive_note(free_receives_.back())), sizeof(Note), notes_.lkey()};
    RecvWr wr{kReceiveBit | uint64_t(node_) << 32 | free_receives_.back(), nullptr, &sge, 1}, *bad = nullptr;
    const int r = qp_->context->ops.post_recv(qp_.get(), &wr, &bad);
    if (r == ENOMEM) return;
    if (r) fail(MK_ESYSTEM, say("post a receive to %s: %s", nic_.name.c_str(), std::strerror(r)));
  }
}

template <class What> bool Link::post(uint32_t id, What&& what) {
  if (flying_ >= limit_) return false;
  ex_->start(ex_);
  ex_->wr_id = uint64_t(node_) << 32 | id;
  ex_->wr_flags = kSignaled;
  what();
  ex_->set_ud_addr(ex_, ah_.get(), peer_.qpn, kQkey);
  const int r = ex_->complete(ex_);
  if (r == ENOMEM) return false;
  if (r) fail(MK_ESYSTEM, say("post to %s: %s", nic_.name.c_str(), std::strerror(r)));
  ++flying_;
  return true;
}

bool Link::post_note(uint32_t id, const Note& note) {
  return post(id, [&] {
    ex_->send(ex_);
    ex_->set_sge(ex_, notes_.lkey(), notes_.address(&note), sizeof note);
  });
}

bool Link::post_write(uint32_t id, uint64_t to, uint32_t imm, uint64_t from, uint32_t lkey, uint32_t bytes) {
  return post(id, [&] {
    ex_->rdma_write_imm(ex_, peer_.key, to, htonl(imm));
    ex_->set_sge(ex_, lkey, from, bytes);
  });
}

bool Link::post_slot(const Leaving::Piece& piece) {
  const uint32_t id = (piece.slot + 1) << 8 | piece.write;
  const Head& head = piece.head;
  if (!peer_.slots) return post_write(id, peer_.heap + head.to, head.imm, leaving_->payload(piece.slot), leaving_->lkey(), head.bytes);
  return post_write(id, peer_.slots + uint64_t(piece.slot) * kSlot, piece.slot, leaving_->head(piece.slot), leaving_->lkey(),
                    uint32_t(sizeof head) + head.bytes);
}

bool Link::start_piece(const Sending& s, uint32_t bytes) {
  const uint32_t index = uint32_t(&s - sendings_);
  const uint64_t to = s.write.to + s.sent;
  const std::byte* from = heap_ + s.write.from + s.sent;
  if (leaving_) return leaving_->fill({{to, bytes, s.imm}, index}, from);
  return post_write(index, peer_.heap + to, s.imm, reinterpret_cast<uint64_t>(from), heap_key_, bytes);
}

}  // namespace mk::rt::net::srd
