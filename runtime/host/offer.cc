#include <poll.h>
#include <sys/random.h>

#include "fail.h"
#include "handover.h"
#include "handover_wire.h"

namespace mk::rt {

constexpr size_t kSilent = 64;  // connections that may stand open without a word

Offer::Offer(Fd heap, const Token& token, uint64_t awaited, std::function<void(const Farewell&)> heard)
    : heap_(std::move(heap)),
      awaited_(awaited),
      listener_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)),
      token_(token),
      heard_(std::move(heard)) {
  if (!listener_) fail_errno("unix socket");
  uint64_t random;
  if (::getrandom(&random, sizeof random, 0) != sizeof random) fail_errno("getrandom");
  name_ = say("mk-heap-%016lx", random);
  Address address(name_);
  if (::bind(listener_.get(), address.get(), address.len)) fail_errno("bind the heap's unix socket");
  if (::listen(listener_.get(), 64)) fail_errno("listen on the heap's unix socket");
  thread_ = std::thread([this] { serve(); });
}

Offer::~Offer() {
  stop_.raise();
  thread_.join();
}

void Offer::settled(uint64_t ranks) {
  std::lock_guard lock(mutex_);
  awaited_ &= ~ranks;
  if (!awaited_) heap_ = Fd();
}

// Connections wait in the poll set, so one that says nothing holds nobody up.
void Offer::serve() noexcept {
  std::vector<Fd> open;
  for (;;) {
    std::vector<pollfd> polled{{stop_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    for (const Fd& c : open) polled.push_back({c.get(), POLLIN, 0});
    if (::poll(polled.data(), polled.size(), -1) < 0) {
      if (errno == EINTR) continue;
      break;
    }
    if (polled[0].revents) break;
    std::vector<Fd> still;
    for (size_t i = 0; i < open.size(); ++i)
      if (!polled[i + 2].revents || !answer(open[i].get())) still.push_back(std::move(open[i]));
    open = std::move(still);
    if (!polled[1].revents) continue;
    if (Fd next{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)}) open.push_back(std::move(next));
    if (open.size() > kSilent) open.erase(open.begin());
  }
}

// True once the connection is of no further use.
bool Offer::answer(int connection) noexcept {
  Goodbye goodbye;  // the longer of the two
  const ssize_t n = ::recv(connection, &goodbye, sizeof goodbye, 0);
  if (n < 0) return errno != EAGAIN && errno != EINTR;
  if (n < ssize_t(sizeof token_) || goodbye.token != token_) return true;
  if (n == sizeof goodbye && goodbye.words.magic == Farewell::kMagic) {
    goodbye.words.why[sizeof goodbye.words.why - 1] = 0;
    heard_(goodbye.words);
    return true;
  }
  Request request;
  std::memcpy(&request, &goodbye, sizeof request);
  if (n != sizeof request || request.rank < 0 || request.rank >= MK_MAX_WORLD) return true;
  {
    std::lock_guard lock(mutex_);
    if (!heap_) return true;
    Parcel parcel;
    cmsghdr* c = CMSG_FIRSTHDR(&parcel.header);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    int fd = heap_.get();
    std::memcpy(CMSG_DATA(c), &fd, sizeof fd);
    if (::sendmsg(connection, &parcel.header, MSG_NOSIGNAL) != 1) return true;
  }
  settled(uint64_t(1) << request.rank);
  return true;
}

void tell(const Blob& peer, const Farewell& words) noexcept {
  Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const timeval patience{1, 0};  // also of connect, which waits while as many others as the listener queues wait there
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  const Goodbye goodbye{peer.token, words};
  if (connect(socket, peer)) [[maybe_unused]] ssize_t sent = ::send(socket.get(), &goodbye, sizeof goodbye, MSG_NOSIGNAL);
}

}  // namespace mk::rt
