// Control connections between the ranks of one index on different nodes: TCP, one for each pair, whatever carries the
// data. They say that a peer has given up and why, that it closes, and by their end that it died.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "door.h"

namespace mk::rt::net {

class Lines {
 public:
  using Peer = Partner;

  // Listens at own_address(local), on a port that the system picks. token: of this rank's blob; whoever calls must show it.
  Lines(int rank, const Token& token, bool local);
  ~Lines();  // says goodbye to those that are still there and have not heard it
  const Address& address() const;

  // Door::join: returns when all pairs of all peers are connected, or throws MK_EABORTED naming all that are missing. Where it
  // returns because `stop` was raised, `tell` works and `listen` must not be called.
  void connect(const std::vector<Peer>& peers, uint64_t timeout_ms, const Stop* stop = nullptr);

  // After connect: a thread of its own calls these; they must not throw.
  //   heard: a peer sent a message with tell. lost: a peer's connection ended without goodbye, or failed; why says how.
  //   left: a peer said goodbye; nothing comes from it any more.
  void listen(std::function<void(int rank, std::string message)> heard, std::function<void(int rank, std::string why)> lost,
              std::function<void(int rank)> left);

  // To every peer that is still there; longer ones are cut to kMessage bytes. Does not wait: a peer that has not taken what
  // was told before is given up and reported as lost. Callable from any thread.
  // False, and nobody told, before connect.
  static constexpr size_t kMessage = 1024;
  bool tell(const std::string& message) noexcept;

  // After listen: waits until enough() holds, which is asked whenever something was heard, lost or told; false if it does not
  // within timeout_ms.
  bool wait(uint64_t timeout_ms, const std::function<bool()>& enough);
  // After listen: says goodbye, and waits until every peer has said it too or is lost, or enough() holds; timeout_ms at most.
  void part(uint64_t timeout_ms, const std::function<bool()>& enough);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mk::rt::net
