// All ranks of a test case meet over TCP, whatever the backend under test: rank 0 listens. Machines go from case to case on
// their own, so a rank may reach rank 0's listener of the case before: it is not answered there, and tries again.
#pragma once
#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "fail.h"

namespace test {

class Meet {
 public:
  // listener: of rank 0, made before the ranks are forked. name: of the case, another for each that a machine runs.
  Meet(int rank, int world, int listener, const std::string& address, int port, const std::string& name)
      : rank_(rank), world_(world), sockets_(size_t(world), -1) {
    const Hello mine{rank, std::hash<std::string>()(name)};
    if (rank == 0) {
      for (int i = 1; i < world_; ++i) {
        Hello peer{};
        int fd = ::accept(listener, nullptr, nullptr);
        full(fd, &peer, sizeof peer, false);
        if (peer.name != mine.name) mk::rt::fail(MK_ESYSTEM, mk::rt::say("rank %d of the test is in another case", peer.rank));
        full(fd, &peer, sizeof peer, true);
        sockets_[size_t(peer.rank)] = fd;
      }
      return;
    }
    sockaddr_in a = where(address, port);
    for (;;) {  // until rank 0 is there; the test as a whole has a deadline
      int fd = ::socket(AF_INET, SOCK_STREAM, 0);
      Hello answer{};
      if (::connect(fd, reinterpret_cast<sockaddr*>(&a), sizeof a) == 0 && ::send(fd, &mine, sizeof mine, MSG_NOSIGNAL) == sizeof mine &&
          ::recv(fd, &answer, sizeof answer, MSG_WAITALL) == sizeof answer) {
        sockets_[0] = fd;
        return;
      }
      ::close(fd);
      ::usleep(20000);
    }
  }
  ~Meet() {
    for (int fd : sockets_)
      if (fd >= 0) ::close(fd);
  }

  static sockaddr_in where(const std::string& address, int port) {
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_port = htons(uint16_t(port));
    ::inet_pton(AF_INET, address.c_str(), &a.sin_addr);
    return a;
  }
  static int listen(int port) {
    int fd = ::socket(AF_INET, SOCK_STREAM, 0), one = 1;
    sockaddr_in a = where("0.0.0.0", port);
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (::bind(fd, reinterpret_cast<sockaddr*>(&a), sizeof a) || ::listen(fd, 64)) mk::rt::fail_errno("listen");
    return fd;
  }

  template <class T> std::vector<T> gather(const T& mine) {
    std::vector<T> all(size_t(world_), mine);
    if (rank_ == 0) {
      for (int i = 1; i < world_; ++i) full(sockets_[size_t(i)], &all[size_t(i)], sizeof mine, false);
      for (int i = 1; i < world_; ++i) full(sockets_[size_t(i)], all.data(), sizeof mine * all.size(), true);
    } else {
      full(sockets_[0], &mine, sizeof mine, true);
      full(sockets_[0], all.data(), sizeof mine * all.size(), false);
    }
    return all;
  }
  void barrier() { gather(char(0)); }

  // A barrier during which the rank goes on with something.
  template <class Work> void barrier(Work&& work) {
    char c = 1;
    if (rank_ == 0) {
      for (int i = 1; i < world_; ++i) {
        while (!ready(sockets_[size_t(i)])) work();
        full(sockets_[size_t(i)], &c, 1, false);
      }
      for (int i = 1; i < world_; ++i) full(sockets_[size_t(i)], &c, 1, true);
    } else {
      full(sockets_[0], &c, 1, true);
      while (!ready(sockets_[0])) work();
      full(sockets_[0], &c, 1, false);
    }
  }

 private:
  struct Hello {
    int rank;
    size_t name;
  };
  static bool ready(int fd) {
    pollfd p{fd, POLLIN, 0};
    return ::poll(&p, 1, 0) > 0;
  }
  static void full(int fd, const void* data, size_t bytes, bool out) {
    char* at = static_cast<char*>(const_cast<void*>(data));
    while (bytes) {
      ssize_t n = out ? ::send(fd, at, bytes, MSG_NOSIGNAL) : ::recv(fd, at, bytes, 0);
      if (n <= 0) mk::rt::fail(MK_ESYSTEM, "a rank of the test has gone");
      at += n;
      bytes -= size_t(n);
    }
  }
  int rank_, world_;
  std::vector<int> sockets_;
};

}  // namespace test
