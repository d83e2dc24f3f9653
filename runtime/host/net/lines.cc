#include "lines.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "../fail.h"

namespace mk::rt::net {
namespace {

// In front of each message.
struct Head {
  enum Kind : uint32_t { kMessage = 0x4c4d'4b4d, kGoodbye } kind;
  uint32_t bytes;  // that follow
};

struct Line {
  int rank;
  uint64_t timeout_ms;
  Fd socket;          // none once the line is lost
  std::string in;     // not whole yet
  std::string why;    // of an end that this side brought about
  bool left = false;  // the peer has said goodbye
  bool bade = false;  // so has this side

  bool open() const { return socket && !left; }

  bool send(Head::Kind kind, const char* text, size_t n) {
    char frame[sizeof(Head) + Lines::kMessage];
    const Head head{kind, uint32_t(n)};
    std::memcpy(frame, &head, sizeof head);
    if (n) std::memcpy(frame + sizeof head, text, n);
    const ssize_t sent = ::send(socket.get(), frame, sizeof head + n, MSG_NOSIGNAL);
    if (sent >= 0 && sent < ssize_t(sizeof head + n)) errno = EAGAIN;
    return sent == ssize_t(sizeof head + n);
  }
  void goodbye() {
    bade = true;
    send(Head::kGoodbye, nullptr, 0);
  }
  void discard() {
    char bytes[4096];
    while (::recv(socket.get(), bytes, sizeof bytes, 0) > 0) {
    }
  }
};

std::string how(const Line& line, int error) {
  return line.why.empty() ? ending(error, line.timeout_ms) : line.why;
}

}  // namespace

struct Lines::Impl {
  int rank;
  std::unique_ptr<Door> door;  // until all are connected: then nobody is let in any more
  Address address;
  std::mutex mutex;            // sockets are sent to, and closed, under it
  std::vector<Line> lines;
  Event stop;
  std::thread thread;
  std::condition_variable changed;  // what wait and part wait for
  std::function<void(int, std::string)> heard, lost;
  std::function<void(int)> left;

  // Returns why it ended.
  std::string end(Line& line, int error) {
    std::lock_guard lock(mutex);
    line.socket = Fd();
    return how(line, error);
  }

  // All that has come whole. False where the line has ended.
  bool parse(Line& line) {
    for (Head head; line.in.size() >= sizeof head;) {
      std::memcpy(&head, line.in.data(), sizeof head);
      if ((head.kind != Head::kMessage && head.kind != Head::kGoodbye) || head.bytes > kMessage) {
        end(line, 0);
        lost(line.rank, "it sent something malformed");
        return false;
      }
      if (line.in.size() < sizeof head + head.bytes) return true;
      if (head.kind == Head::kGoodbye) {
        left(line.rank);
        std::lock_guard lock(mutex);
        line.left = true;
        return false;
      }
      heard(line.rank, line.in.substr(sizeof head, head.bytes));
      line.in.erase(0, sizeof head + head.bytes);
    }
    return true;
  }

  void take(Line& line) {
    for (;;) {
      char bytes[4096];
      ssize_t n = ::recv(line.socket.get(), bytes, sizeof bytes, 0);
      const int error = n < 0 ? errno : 0;
      if (error == EINTR) continue;
      if (error == EAGAIN) return;
      if (n <= 0) return lost(line.rank, end(line, error));
      line.in.append(bytes, size_t(n));
      if (!parse(line)) return;
    }
  }

  void wake() {
    std::lock_guard lock(mutex);
    changed.notify_all();
  }

  void serve() {
    for (;;) {
      std::vector<pollfd> polled{{stop.get(), POLLIN, 0}};
      for (const Line& l : lines) polled.push_back({l.open() ? l.socket.get() : -1, POLLIN, 0});  // poll skips -1
      if (::poll(polled.data(), polled.size(), -1) < 0) continue;
      if (polled[0].revents) return;
      for (size_t i = 0; i < lines.size(); ++i)
        if (polled[i + 1].revents) take(lines[i]);
      wake();
    }
  }
};

Lines::Lines(int rank, const Token& token, bool local) : impl_(std::make_unique<Impl>()) {
  impl_->rank = rank;
  impl_->door = std::make_unique<Door>(rank, token, local);
  impl_->address = impl_->door->address();
}

// What was not read is read first: closing over it would reset the connection, and the goodbye might not come through.
Lines::~Lines() {
  impl_->stop.raise();
  if (impl_->thread.joinable()) impl_->thread.join();
  for (Line& l : impl_->lines) {
    if (!l.socket) continue;
    l.discard();
    if (!l.bade) l.goodbye();
    ::shutdown(l.socket.get(), SHUT_WR);
    l.discard();
  }
}

const Address& Lines::address() const { return impl_->address; }

void Lines::connect(const std::vector<Peer>& peers, uint64_t timeout_ms, const Stop* stop) {
  if (!impl_->door) fail(MK_EINVAL, "these control connections stand already");
  std::vector<Fd> sockets = impl_->door->join(peers, timeout_ms, stop);
  std::lock_guard lock(impl_->mutex);
  for (size_t i = 0; i < peers.size(); ++i)
    impl_->lines.push_back({peers[i].rank, timeout_ms, std::move(sockets[i]), {}, {}});
  impl_->door.reset();
}

void Lines::listen(std::function<void(int, std::string)> heard, std::function<void(int, std::string)> lost,
                   std::function<void(int)> left) {
  impl_->heard = std::move(heard);
  impl_->lost = std::move(lost);
  impl_->left = std::move(left);
  impl_->thread = std::thread([this] { impl_->serve(); });
}

bool Lines::tell(const std::string& message) noexcept {
  std::lock_guard lock(impl_->mutex);
  for (Line& l : impl_->lines) {
    if (!l.socket || l.bade || !l.why.empty()) continue;
    if (l.send(Head::kMessage, message.data(), std::min(message.size(), kMessage))) continue;
    const int error = errno;
    l.why = error == EAGAIN ? "it takes no messages any more: its process hangs" : how(l, error);
    ::shutdown(l.socket.get(), SHUT_RDWR);  // the thread sees the end and reports it
  }
  impl_->changed.notify_all();
  return !impl_->lines.empty();
}

bool Lines::wait(uint64_t timeout_ms, const std::function<bool()>& enough) {
  std::unique_lock lock(impl_->mutex);
  return impl_->changed.wait_for(lock, std::chrono::milliseconds(timeout_ms), enough);
}

void Lines::part(uint64_t timeout_ms, const std::function<bool()>& enough) {
  std::unique_lock lock(impl_->mutex);
  for (Line& l : impl_->lines)
    if (l.socket) l.goodbye();
  impl_->changed.wait_for(lock, std::chrono::milliseconds(timeout_ms), [&] {
    return enough() || std::none_of(impl_->lines.begin(), impl_->lines.end(), [](const Line& l) { return l.open(); });
  });
}

}  // namespace mk::rt::net
