// Where a rank is reached by TCP, and sockets for it. All sockets are non-blocking and end with exec.
#pragma once
#include <cstdint>
#include <string>

#include "../fd.h"

namespace mk::rt::net {

// What a rank's blob or card tells the others.
struct Address {
  uint8_t ip[16];  // v6, or v4 mapped into it
  uint16_t port;   // host byte order
};

// This machine's address for peers: of the interface that MKGEN_INTERFACE names, otherwise of the first that is up and not
// the loopback, otherwise 127.0.0.1. `local`: 127.0.0.1, for worlds on one machine. port is 0. Throws MK_EINVAL naming the
// interfaces there are where the named one is not there or has no address.
Address own_address(bool local);
std::string text(const Address& address);  // 10.0.0.1:4711, [fe80::1]:4711

Fd listen_at(Address& address);    // on a port that the system picks, and puts into address
Fd call(const Address& address);   // a connection under way: writable once it stands or has failed (SO_ERROR)
Fd accept_from(const Fd& listener);  // none where nobody calls

// Small messages go at once, and a peer that vanishes without a word makes the connection fail within the timeout.
void tune(const Fd& connection, uint64_t timeout_ms);
// How a connection ended that nobody said goodbye to. error: an errno, or 0 for an end without one.
std::string ending(int error, uint64_t timeout_ms);

}  // namespace mk::rt::net
