#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>

#include "fail.h"
#include "handover.h"
#include "handover_wire.h"

namespace mk::rt {

Event::Event() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!fd_) fail_errno("eventfd");
}
void Event::raise() noexcept {
  uint64_t one = 1;
  [[maybe_unused]] ssize_t n = ::write(fd_.get(), &one, sizeof one);  // fails only where it is raised already
}

Offer::Offer(Fd heap, const Token& token, uint64_t awaited)
    : heap_(std::move(heap)),
      listener_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)),
      token_(token),
      awaited_(awaited) {
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
  if ((awaited_.fetch_and(~ranks) & ~ranks) == 0) stop_.raise();
}

// Connections wait in the poll set, so one that says nothing holds nobody up.
void Offer::serve() noexcept {
  std::vector<Fd> open;
  while (awaited_.load()) {
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
    if (polled[1].revents) {
      Fd next(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (next && open.size() < 64) open.push_back(std::move(next));
    }
  }
  listener_ = Fd();  // whoever comes now is refused at once
  heap_ = Fd();
}

// True once the connection is of no further use.
bool Offer::answer(int connection) noexcept {
  Request request;
  ssize_t n = ::recv(connection, &request, sizeof request, 0);
  if (n < 0) return errno != EAGAIN && errno != EINTR;
  if (n != sizeof request || request.token != token_ || request.rank < 0 || request.rank >= MK_MAX_WORLD) return true;
  Parcel parcel;
  cmsghdr* c = CMSG_FIRSTHDR(&parcel.header);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SCM_RIGHTS;
  c->cmsg_len = CMSG_LEN(sizeof(int));
  int fd = heap_.get();
  std::memcpy(CMSG_DATA(c), &fd, sizeof fd);
  if (::sendmsg(connection, &parcel.header, MSG_NOSIGNAL) == 1) awaited_.fetch_and(~(uint64_t(1) << request.rank));
  return true;
}

}  // namespace mk::rt
