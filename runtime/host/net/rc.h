// One reliable connection (RC) to a peer: writes go into its send queue in order and complete in order.
#pragma once
#include <vector>

#include "region.h"

namespace mk::rt::net {

constexpr uint32_t kDepth = 256;  // of a send queue, unless the device allows less
constexpr uint32_t kWordsAtOnce = 16;

// The end of a connection that a peer has to know.
struct Port {
  verbs::Gid gid;
  uint32_t qpn, psn;
  uint16_t lid;
  uint8_t mtu, link;
};

class Connection {
 public:
  // number: told back by the completion queue. words: stage_bytes(depth) of host memory registered as lkey, from which words are sent.
  Connection(const Nic& nic, verbs::Cq* cq, uint32_t number, uint32_t depth, uint64_t* words, uint32_t lkey);
  static size_t stage_bytes(uint32_t depth) { return size_t(depth) * kWordsAtOnce * sizeof(uint64_t); }

  Port port() const;
  void connect(const Port& peer, uint64_t timeout_ms);

  // What may be queued now, in pieces of at most piece() bytes or kWordsAtOnce words.
  uint32_t room() const { return depth_ - uint32_t(put_ - completed_); }
  uint32_t piece() const { return piece_; }
  // Queue a piece; it is sent at the latest by flush. signal: completed() is to tell, soon after, that all up to this one is done.
  void bytes(uint64_t from, uint32_t lkey, uint64_t to, uint32_t rkey, uint32_t bytes, bool signal);
  void words(uint64_t value, uint32_t count, uint64_t to, uint32_t rkey, bool signal);
  void flush();

  uint64_t put() const { return put_; }              // pieces, from the beginning
  uint64_t completed() const { return completed_; }  // of them
  // What the completion queue said.
  static uint32_t number(const verbs::Wc& wc) { return uint32_t(wc.wr_id >> kCountBits); }
  void complete(const verbs::Wc& wc);

 private:
  static constexpr int kCountBits = 48;
  static constexpr uint32_t kBatch = 16;  // pieces for one bell
  void queue(uint64_t from, uint32_t lkey, uint64_t to, uint32_t rkey, uint32_t bytes, uint32_t flags, bool signal);

  const Nic& nic_;
  Owned<verbs::Qp> qp_;
  uint32_t number_, depth_, piece_, inline_bytes_, psn_;
  uint64_t* words_;
  uint32_t words_lkey_;
  uint64_t put_ = 0, completed_ = 0, signaled_ = 0;
  verbs::SendWr batch_[kBatch];
  verbs::Sge sges_[kBatch];
  uint32_t batched_ = 0;
};

}  // namespace mk::rt::net
