#include "event.h"

#include <poll.h>
#include <sys/eventfd.h>

#include "fail.h"

namespace mk::rt {

Event::Event() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!fd_) fail_errno("eventfd");
}

void Event::raise() noexcept {
  uint64_t one = 1;
  [[maybe_unused]] ssize_t n = ::write(fd_.get(), &one, sizeof one);  // fails only where it is raised already
}

bool Event::raised(int wait_ms) const noexcept {
  pollfd polled{fd_.get(), POLLIN, 0};
  return ::poll(&polled, 1, wait_ms) == 1;
}

void Stop::raise(const std::string& why) {
  std::lock_guard lock(mutex_);
  if (why_.empty()) why_ = why;
  event_.raise();
}

std::string Stop::why() const {
  std::lock_guard lock(mutex_);
  return why_;
}

void Stop::check() const {
  if (raised()) fail(MK_EABORTED, why());
}

}  // namespace mk::rt
