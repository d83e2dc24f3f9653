// Handing the heap's file descriptor from process to process over an abstract unix socket, guarded by a token that only
// the blob tells.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "blob.h"
#include "fd.h"

namespace mk::rt {

// An eventfd: once raised it stays readable.
class Event {
 public:
  Event();
  void raise() noexcept;
  int get() const { return fd_.get(); }

 private:
  Fd fd_;
};

// Serves one descriptor from a thread of its own until every rank in `awaited` has had it, or the end.
class Offer {
 public:
  Offer(Fd heap, const Token& token, uint64_t awaited);
  ~Offer();
  const std::string& socket() const { return name_; }
  void settled(uint64_t ranks);  // bit mask of ranks that need no descriptor

 private:
  void serve() noexcept;
  bool answer(int connection) noexcept;

  Fd heap_, listener_;
  Token token_;
  std::string name_;
  std::atomic<uint64_t> awaited_;
  Event stop_;
  std::thread thread_;
};

// The descriptors of these ranks' heaps, in order. Throws MK_EABORTED naming every rank that did not answer in time, or
// when `aborted` is raised.
std::vector<Fd> collect(int own_rank, const std::vector<const Blob*>& peers, uint64_t timeout_ms, const Event& aborted);

}  // namespace mk::rt
