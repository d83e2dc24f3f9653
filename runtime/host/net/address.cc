#include "address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "../fail.h"

namespace mk::rt::net {
namespace {

constexpr uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool is_v4(const Address& a) { return !std::memcmp(a.ip, kMapped, sizeof kMapped); }
bool is_link_local(const Address& a) { return a.ip[0] == 0xfe && (a.ip[1] & 0xc0) == 0x80; }

Address v4(const void* ip) {
  Address a{};
  std::memcpy(a.ip, kMapped, sizeof kMapped);
  std::memcpy(a.ip + sizeof kMapped, ip, 4);
  return a;
}

// MKGEN_INTERFACE, or null.
const char* named_interface() {
  const char* name = std::getenv("MKGEN_INTERFACE");
  return name && *name ? name : nullptr;
}

struct Sockaddr {
  sockaddr_storage at{};
  socklen_t len = sizeof at;
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&at); }

  Sockaddr() = default;
  explicit Sockaddr(const Address& a) {
    if (is_v4(a)) {
      auto* to = reinterpret_cast<sockaddr_in*>(&at);
      to->sin_family = AF_INET;
      to->sin_port = htons(a.port);
      std::memcpy(&to->sin_addr, a.ip + sizeof kMapped, 4);
      len = sizeof *to;
    } else {
      auto* to = reinterpret_cast<sockaddr_in6*>(&at);
      to->sin6_family = AF_INET6;
      to->sin6_port = htons(a.port);
      std::memcpy(&to->sin6_addr, a.ip, 16);
      if (is_link_local(a) && named_interface()) to->sin6_scope_id = ::if_nametoindex(named_interface());
      len = sizeof *to;
    }
  }
  uint16_t port() const {  // at the same place in both
    return ntohs(reinterpret_cast<const sockaddr_in*>(&at)->sin_port);
  }
};

Fd stream_socket(const Address& a) {
  Fd fd(::socket(is_v4(a) ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) fail_errno("socket for peers on other nodes");
  return fd;
}

void set(const Fd& fd, int level, int option, int value) { ::setsockopt(fd.get(), level, option, &value, sizeof value); }

}  // namespace

Address own_address(bool local) {
  const uint8_t loopback[4] = {127, 0, 0, 1};
  if (local) return v4(loopback);
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list)) fail_errno("getifaddrs");
  std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owned(list, ::freeifaddrs);
  const char* name = named_interface();
  std::string chosen = name ? name : "", all;
  bool found = false;
  Address best{};
  int rank = 3;  // of best: 0 v4, 1 v6, 2 link-local v6, which only a named interface may give
  for (ifaddrs* i = list; i; i = i->ifa_next) {
    if (all.find(say(" %s,", i->ifa_name)) == std::string::npos) all += say(" %s,", i->ifa_name);
    found = found || chosen == i->ifa_name;
    if (!i->ifa_addr || !(i->ifa_flags & IFF_UP) || (!name && (i->ifa_flags & IFF_LOOPBACK))) continue;
    if (!chosen.empty() && chosen != i->ifa_name) continue;
    Address a{};
    if (i->ifa_addr->sa_family == AF_INET)
      a = v4(&reinterpret_cast<sockaddr_in*>(i->ifa_addr)->sin_addr);
    else if (i->ifa_addr->sa_family == AF_INET6)
      std::memcpy(a.ip, &reinterpret_cast<sockaddr_in6*>(i->ifa_addr)->sin6_addr, 16);
    else
      continue;
    const int r = is_v4(a) ? 0 : is_link_local(a) ? 2 : 1;
    if (r >= rank || (r == 2 && !name)) continue;
    chosen = i->ifa_name;
    best = a;
    rank = r;
  }
  if (!all.empty()) all.pop_back();
  if (name && rank == 3)
    fail(MK_EINVAL, say("MKGEN_INTERFACE=%s: %s; there are:%s", name,
                        found ? "that interface is down or has no address" : "no such interface", all.c_str()));
  return rank == 3 ? v4(loopback) : best;
}

std::string text(const Address& a) {
  char ip[INET6_ADDRSTRLEN] = "";
  if (is_v4(a)) {
    ::inet_ntop(AF_INET, a.ip + sizeof kMapped, ip, sizeof ip);
    return say("%s:%u", ip, a.port);
  }
  ::inet_ntop(AF_INET6, a.ip, ip, sizeof ip);
  return say("[%s]:%u", ip, a.port);
}

Fd listen_at(Address& address) {
  Fd fd = stream_socket(address);
  Sockaddr at(address), bound;
  if (::bind(fd.get(), at.get(), at.len)) fail_errno(say("bind to %s", text(address).c_str()).c_str());
  if (::listen(fd.get(), 128)) fail_errno("listen for peers on other nodes");
  if (::getsockname(fd.get(), bound.get(), &bound.len)) fail_errno("getsockname");
  address.port = bound.port();
  return fd;
}

Fd call(const Address& address) {
  Fd fd = stream_socket(address);
  Sockaddr at(address);
  // An error shows as SO_ERROR later, but those found at once show here only.
  if (::connect(fd.get(), at.get(), at.len) && errno != EINPROGRESS) return Fd();
  return fd;
}

Fd accept_from(const Fd& listener) {
  Fd fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) fail_errno("accept a peer's connection");
  return fd;
}

void tune(const Fd& connection, uint64_t timeout_ms) {
  const int ms = int(std::min<uint64_t>(timeout_ms, 1 << 30)), seconds = std::max(1, ms / 1000);
  set(connection, IPPROTO_TCP, TCP_NODELAY, 1);
  set(connection, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(connection, IPPROTO_TCP, TCP_KEEPIDLE, std::max(1, seconds / 3));
  set(connection, IPPROTO_TCP, TCP_KEEPINTVL, std::max(1, seconds / 6));
  set(connection, IPPROTO_TCP, TCP_KEEPCNT, 4);
  set(connection, IPPROTO_TCP, TCP_USER_TIMEOUT, std::max(1, ms * 2 / 3));  // it is looked at when a probe is due
}

std::string ending(int error, uint64_t timeout_ms) {
  if (error == 0 || error == ECONNRESET || error == EPIPE)
    return "its connection ended without goodbye: the process has ended, crashed or was killed";
  if (error == ETIMEDOUT)
    return say("it took nothing for %lu ms: its host is down or out of reach, or its process hangs", timeout_ms);
  return say("its connection failed: %s", std::strerror(error));
}

}  // namespace mk::rt::net
