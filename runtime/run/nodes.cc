#include "nodes.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

namespace mk::run {
namespace {

constexpr int kPatience = 300;  // seconds

struct Socket {
  int fd = -1;
  Socket(int f) : fd(f) {}
  Socket(Socket&& o) noexcept : fd(o.fd) { o.fd = -1; }
  ~Socket() {
    if (fd >= 0) ::close(fd);
  }
};

[[noreturn]] void broken(const std::string& what) { throw std::runtime_error(what + ": " + std::strerror(errno)); }

struct Place {
  addrinfo* at = nullptr;
  explicit Place(const std::string& meet) {
    const size_t colon = meet.rfind(':');
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    if (colon == meet.npos || ::getaddrinfo(meet.substr(0, colon).c_str(), meet.substr(colon + 1).c_str(), &hints, &at))
      throw std::runtime_error("--meet " + meet + ": no such HOST:PORT");
  }
  ~Place() { ::freeaddrinfo(at); }
};

void all(int fd, char* data, size_t bytes, bool out) {
  while (bytes > 0) {
    pollfd p{fd, short(out ? POLLOUT : POLLIN), 0};
    if (::poll(&p, 1, kPatience * 1000) == 0) throw std::runtime_error("the runner of another node is silent");
    const ssize_t n = out ? ::send(fd, data, bytes, MSG_NOSIGNAL) : ::recv(fd, data, bytes, 0);
    if (n == 0) throw std::runtime_error("the runner of another node has ended");
    if (n < 0 && errno != EINTR && errno != EAGAIN) broken("the runner of another node");
    if (n > 0) data += n, bytes -= size_t(n);
  }
}

Socket call(const Place& place) {
  for (int tries = 0; tries < kPatience * 20; ++tries) {
    Socket s(::socket(place.at->ai_family, SOCK_STREAM, 0));
    if (::connect(s.fd, place.at->ai_addr, place.at->ai_addrlen) == 0) return s;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // node 0 may start later
  }
  broken("the runner of node 0 does not answer");
}

}  // namespace

void gather_blobs(const std::string& meet, int node, int nodes, char* blobs, size_t bytes) {
  const Place place(meet);
  if (node > 0) {
    Socket s = call(place);
    int32_t number = node;
    all(s.fd, reinterpret_cast<char*>(&number), sizeof number, true);
    all(s.fd, blobs + bytes * size_t(node), bytes, true);
    return all(s.fd, blobs, bytes * size_t(nodes), false);
  }
  Socket door(::socket(place.at->ai_family, SOCK_STREAM, 0));
  int on = 1;
  ::setsockopt(door.fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(door.fd, place.at->ai_addr, place.at->ai_addrlen) || ::listen(door.fd, nodes)) broken("--meet " + meet);
  std::vector<Socket> others;
  for (int i = 1; i < nodes; ++i) {
    pollfd p{door.fd, POLLIN, 0};
    if (::poll(&p, 1, kPatience * 1000) != 1) throw std::runtime_error("the runners of some nodes did not come to " + meet);
    others.emplace_back(::accept(door.fd, nullptr, nullptr));
    int32_t number = 0;
    all(others.back().fd, reinterpret_cast<char*>(&number), sizeof number, false);
    if (number < 1 || number >= nodes) throw std::runtime_error("a runner of node " + std::to_string(number) + " came to " + meet);
    all(others.back().fd, blobs + bytes * size_t(number), bytes, false);
  }
  for (Socket& s : others) all(s.fd, blobs, bytes * size_t(nodes), true);
}

}  // namespace mk::run
