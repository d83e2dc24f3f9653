// The messages to a heap's unix socket: a request, which is answered with one byte and the descriptor, and a farewell.
#pragma once
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <string>

#include "blob.h"
#include "farewell.h"
#include "fd.h"

namespace mk::rt {

struct Request {
  Token token;
  int32_t rank;
};

struct Goodbye {
  Token token;
  Farewell words;
};

struct Address {
  sockaddr_un at{};
  socklen_t len;
  explicit Address(const std::string& name) {  // abstract: a leading zero byte, no file
    at.sun_family = AF_UNIX;
    std::memcpy(at.sun_path + 1, name.data(), name.size());
    len = socklen_t(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&at); }
};

inline bool connect(const Fd& socket, const Blob& peer) {
  Address address(std::string(peer.socket, ::strnlen(peer.socket, sizeof peer.socket)));
  return ::connect(socket.get(), address.get(), address.len) == 0;
}

// A one-byte message with room for one descriptor.
struct Parcel {
  char byte = 1;
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  Parcel() {
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
  }
};

}  // namespace mk::rt
