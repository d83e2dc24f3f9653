// Handing the heap's file descriptor from process to process over an abstract unix socket, guarded by a token that only
// the blob tells. The same socket takes the words of a rank that has given up, so that nobody waits for it.
#pragma once
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "blob.h"
#include "event.h"
#include "farewell.h"
#include "fd.h"

namespace mk::rt {

// Serves one descriptor from a thread of its own until every rank in `awaited` has had it, and hears farewells until the end.
class Offer {
 public:
  // heard: called by that thread; must not throw.
  Offer(Fd heap, const Token& token, uint64_t awaited, std::function<void(const Farewell&)> heard);
  ~Offer();
  const std::string& socket() const { return name_; }
  void settled(uint64_t ranks);  // bit mask of ranks that need no descriptor

 private:
  void serve() noexcept;
  bool answer(int connection) noexcept;

  std::mutex mutex_;  // of these two
  Fd heap_;           // none once all have had it
  uint64_t awaited_;
  Fd listener_;
  Token token_;
  std::string name_;
  std::function<void(const Farewell&)> heard_;
  Event stop_;
  std::thread thread_;
};

// The descriptors of these ranks' heaps, in order. Throws MK_EABORTED naming every rank that did not answer in time, or with
// the reason of `stop` when that is raised.
std::vector<Fd> collect(int own_rank, const std::vector<const Blob*>& peers, uint64_t timeout_ms, const Stop& stop);

// Tells that rank's Offer; one that is gone needs no word, and one that takes none is waited for a second at most.
void tell(const Blob& peer, const Farewell& words) noexcept;

}  // namespace mk::rt
