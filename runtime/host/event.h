// What threads that wait in poll are woken by.
#pragma once
#include <mutex>
#include <string>

#include "fd.h"

namespace mk::rt {

// An eventfd: once raised it stays readable.
class Event {
 public:
  Event();
  void raise() noexcept;
  bool raised(int wait_ms = 0) const noexcept;
  int get() const { return fd_.get(); }

 private:
  Fd fd_;
};

// That a world is over, and why: ends whatever its rank waits for while it joins. Callable from any thread.
class Stop {
 public:
  void raise(const std::string& why);  // the first reason stays
  bool raised(int wait_ms = 0) const noexcept { return event_.raised(wait_ms); }
  std::string why() const;             // empty until then
  void check() const;                  // throws MK_EABORTED and the reason once it is raised
  int get() const { return event_.get(); }

 private:
  Event event_;
  mutable std::mutex mutex_;
  std::string why_;
};

}  // namespace mk::rt
