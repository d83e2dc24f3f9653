// Where the ranks of one index on different nodes find each other: each listens, the higher rank calls the lower, both show
// the other's token, and all have their connections before anybody goes on.
#pragma once
#include <vector>

#include "../blob.h"
#include "../event.h"
#include "address.h"

namespace mk::rt::net {

struct Partner {
  int rank, node;
  Address address;
  Token token;
};
std::string text(const Partner& partner);  // rank 3 (node 1, 10.0.0.1:4711)

class Door {
 public:
  // Listens at own_address(local). token: what whoever calls must show.
  Door(int rank, const Token& token, bool local);
  const Address& address() const { return address_; }

  // Connects all pairs and returns the connections, in the order of peers, when every peer has done the same. Throws
  // MK_EABORTED and says of every peer that is missing after timeout_ms what is known of it.
  // When `stop` is raised, throws its reason, which those that are there hear too; the others are left waiting until this door
  // goes, so that they hear from somebody why the world is over before they hear that this rank is gone. If the peers
  // have been told already that all are there, returns the connections at once instead, unread: the caller looks at `stop`.
  // Strangers (wrong token, wrong rank, twice the same rank, too many bytes, silent) are hung up on and disturb nobody.
  std::vector<Fd> join(const std::vector<Partner>& peers, uint64_t timeout_ms, const Stop* stop);

 private:
  int rank_;
  Token token_;
  Address address_;
  Fd listener_;
  std::vector<Fd> unfinished_;  // of a join that was stopped
};

}  // namespace mk::rt::net
