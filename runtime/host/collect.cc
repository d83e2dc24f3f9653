#include <poll.h>

#include <chrono>

#include "fail.h"
#include "handover.h"
#include "handover_wire.h"

namespace mk::rt {
namespace {

constexpr const char* kSilent = "never answered";
constexpr const char* kRefused = "is closed or dead, or in another network namespace";

struct Wait {
  const Blob* peer;
  Fd socket, heap;
  const char* trouble;
};

Wait ask(int own_rank, const Blob& peer) {
  Wait w{&peer, Fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)), Fd(), kSilent};
  if (!w.socket) fail_errno("unix socket");
  Request request{peer.token, own_rank};
  if (!connect(w.socket, peer) || ::send(w.socket.get(), &request, sizeof request, MSG_NOSIGNAL) != sizeof request) {
    w.trouble = kRefused;
    w.socket = Fd();
  }
  return w;
}

void receive(Wait& w) {
  Parcel parcel;
  ssize_t n = ::recvmsg(w.socket.get(), &parcel.header, MSG_CMSG_CLOEXEC);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  cmsghdr* c = n == 1 ? CMSG_FIRSTHDR(&parcel.header) : nullptr;
  if (c && c->cmsg_type == SCM_RIGHTS) {
    int fd;
    std::memcpy(&fd, CMSG_DATA(c), sizeof fd);
    w.heap = Fd(fd);
  } else {
    w.trouble = kRefused;
  }
  w.socket = Fd();
}

}  // namespace

std::vector<Fd> collect(int own_rank, const std::vector<const Blob*>& peers, uint64_t timeout_ms,
                        const Stop& stop) {
  using Clock = std::chrono::steady_clock;
  auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  std::vector<Wait> waits;
  for (const Blob* peer : peers) waits.push_back(ask(own_rank, *peer));
  for (;;) {
    std::vector<pollfd> polled{{stop.get(), POLLIN, 0}};
    for (const Wait& w : waits) polled.push_back({w.socket.get(), POLLIN, 0});  // poll skips those without a socket
    bool waiting = false;
    for (const Wait& w : waits) waiting = waiting || w.socket;
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (!waiting || left <= 0) break;
    if (::poll(polled.data(), polled.size(), int(std::min<int64_t>(left, 1 << 30))) < 0 && errno != EINTR)
      fail_errno("poll for the peers' heaps");
    if (polled[0].revents) stop.check();
    for (size_t i = 0; i < waits.size(); ++i)
      if (polled[i + 1].revents) receive(waits[i]);
  }

  std::string missing;
  std::vector<Fd> heaps;
  for (Wait& w : waits) {
    if (!w.heap)
      missing += say("%srank %d (pid %d) %s", missing.empty() ? "" : "; ", w.peer->rank, w.peer->pid, w.trouble);
    heaps.push_back(std::move(w.heap));
  }
  if (!missing.empty())
    fail(MK_EABORTED, say("rank %d did not get every peer's heap within %lu ms: ", own_rank, timeout_ms) + missing +
                          ". Close this world and open a new one on all ranks");
  return heaps;
}

}  // namespace mk::rt
