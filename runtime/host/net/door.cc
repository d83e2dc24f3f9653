#include "door.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>

#include "../fail.h"
#include "door_wire.h"

namespace mk::rt::net {
namespace {

constexpr size_t kStrangers = 32;  // that may stand at the door without a word

bool equal(const Token& a, const Token& b) {  // takes the same time wherever they differ
  uint8_t difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= uint8_t(a[i] ^ b[i]);
  return difference == 0;
}

bool send_all(const Fd& to, const void* bytes, size_t n) {  // little, into an empty buffer: whole or not at all
  return ::send(to.get(), bytes, n, MSG_NOSIGNAL) == ssize_t(n);
}

// Reads on until `in` has `want` bytes. False where the connection has ended; why says how.
bool read_on(const Fd& from, std::string& in, size_t want, std::string& why) {
  while (in.size() < want) {
    char bytes[256];
    ssize_t n = ::recv(from.get(), bytes, std::min(sizeof bytes, want - in.size()), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return true;
    if (n <= 0) {
      why = n < 0 ? std::strerror(errno) : "hung up";
      return false;
    }
    in.append(bytes, size_t(n));
  }
  return true;
}

enum class State { kAwaited, kCalling, kGreeted, kJoined, kReady, kLost };

struct Pair {
  const Partner* peer;
  State state = State::kAwaited;
  Fd socket;
  std::string in, why;

  void lose(std::string reason) {
    state = State::kLost;
    why = std::move(reason);
    socket = Fd();
  }
};

class Joining {
 public:
  Joining(int rank, const Token& token, const std::vector<Partner>& peers, uint64_t timeout_ms)
      : rank_(rank), token_(token), timeout_ms_(timeout_ms) {
    for (const Partner& p : peers) {
      pairs_.push_back({&p, State::kAwaited, Fd(), {}, {}});
      if (p.rank > rank) continue;
      pairs_.back().state = State::kCalling;
      pairs_.back().socket = call(p.address);
      if (!pairs_.back().socket) pairs_.back().lose(std::strerror(errno));
    }
  }

  std::vector<Fd> run(const Fd& listener, const Stop* stop) {
    using Clock = std::chrono::steady_clock;
    const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms_);
    for (;;) {
      if (!told_ && count(State::kJoined) + count(State::kReady) == pairs_.size()) pronounce("");
      if (told_ && (count(State::kReady) == pairs_.size() || (stop && stop->raised()))) break;
      const bool more = count(State::kAwaited) + count(State::kCalling) + count(State::kGreeted);
      if (count(State::kLost) && !more) give_up();
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
      if (left <= 0) give_up();
      wait(listener, stop, int(std::min<int64_t>(left, 1 << 30)));
    }
    for (const Pair& p : pairs_)
      if (p.socket) tune(p.socket, timeout_ms_);
    return sockets();
  }

  // Of every pair, none where there is no connection.
  std::vector<Fd> sockets() {
    std::vector<Fd> all;
    for (Pair& p : pairs_) all.push_back(std::move(p.socket));
    return all;
  }

 private:
  size_t count(State s) const {
    return size_t(std::count_if(pairs_.begin(), pairs_.end(), [s](const Pair& p) { return p.state == s; }));
  }

  void wait(const Fd& listener, const Stop* stop, int ms) {
    std::vector<pollfd> polled{{stop ? stop->get() : -1, POLLIN, 0}, {listener.get(), POLLIN, 0}};
    for (const Pair& p : pairs_)  // what comes from one that is ready is for whoever gets the connection
      polled.push_back({p.state == State::kReady ? -1 : p.socket.get(),
                        short(p.state == State::kCalling ? POLLOUT : POLLIN), 0});
    for (const Stranger& s : strangers_) polled.push_back({s.socket.get(), POLLIN, 0});
    if (::poll(polled.data(), polled.size(), ms) < 0) {
      if (errno == EINTR) return;
      fail_errno("poll for the peers on other nodes");
    }
    if (polled[0].revents) {
      if (told_) return;
      pronounce(stop->why());
      stop->check();
    }
    size_t at = 2;
    for (Pair& p : pairs_)
      if (polled[at++].revents) advance(p);
    std::vector<Stranger> still;
    for (Stranger& s : strangers_)
      if (!polled[at++].revents || !settle(s)) still.push_back(std::move(s));
    strangers_ = std::move(still);
    if (polled[1].revents)
      if (Fd next = accept_from(listener)) strangers_.push_back({std::move(next), {}});
    if (strangers_.size() > kStrangers) strangers_.erase(strangers_.begin());
  }

  Hello hello(const Partner& to) const { return {kDoorMagic, rank_, to.rank, to.token}; }
  bool mine(const Hello& h) const { return h.magic == kDoorMagic && h.to == rank_ && equal(h.token, token_); }

  void advance(Pair& p) {
    std::string why;
    if (p.state == State::kCalling) {
      int error = 0;
      socklen_t len = sizeof error;
      ::getsockopt(p.socket.get(), SOL_SOCKET, SO_ERROR, &error, &len);
      if (error) return p.lose(std::strerror(error));
      const Hello h = hello(*p.peer);
      if (!send_all(p.socket, &h, sizeof h)) return p.lose(std::strerror(errno));
      p.state = State::kGreeted;
    } else if (p.state == State::kGreeted) {
      if (!read_on(p.socket, p.in, sizeof(Hello), why)) return p.lose(why);
      if (p.in.size() < sizeof(Hello)) return;
      Hello h;
      std::memcpy(&h, p.in.data(), sizeof h);
      if (!mine(h) || h.from != p.peer->rank) return p.lose("something else answers there");
      p.in.clear();
      p.state = State::kJoined;
    } else {
      hear(p);
    }
  }

  void hear(Pair& p) {
    std::string why;
    if (!read_on(p.socket, p.in, sizeof(Verdict), why)) return p.lose(why);
    if (p.in.size() < sizeof(Verdict)) return;
    Verdict length;
    std::memcpy(&length, p.in.data(), sizeof length);
    if (length == 0) {
      p.state = State::kReady;
      return;
    }
    if (length > kLongestVerdict) return p.lose("sent something malformed");
    if (!read_on(p.socket, p.in, sizeof length + length, why)) return p.lose(why);
    if (p.in.size() == sizeof length + length) p.lose("gave up: " + p.in.substr(sizeof length));
  }

  struct Stranger {
    Fd socket;
    std::string in;
  };

  // True once it is no stranger any more or was sent away.
  bool settle(Stranger& s) {
    std::string why;
    if (!read_on(s.socket, s.in, sizeof(Hello) + 1, why) || s.in.size() > sizeof(Hello)) return true;
    if (s.in.size() < sizeof(Hello)) return false;
    Hello h;
    std::memcpy(&h, s.in.data(), sizeof h);
    if (!mine(h)) return true;
    for (Pair& p : pairs_) {
      if (p.state != State::kAwaited || p.peer->rank != h.from) continue;
      const Hello answer = hello(*p.peer);
      if (!send_all(s.socket, &answer, sizeof answer)) return true;
      p.socket = std::move(s.socket);
      p.state = State::kJoined;
    }
    return true;
  }

  void pronounce(const std::string& why) {
    const Verdict length = Verdict(std::min<size_t>(why.size(), kLongestVerdict));
    std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
    bytes.append(why, 0, length);
    for (Pair& p : pairs_)
      if (p.state == State::kJoined || p.state == State::kReady) send_all(p.socket, bytes.data(), bytes.size());
    told_ = true;
  }

  [[noreturn]] void give_up() {
    std::string missing;
    for (const Pair& p : pairs_) {
      const char* known = p.state == State::kAwaited   ? "never called"
                          : p.state == State::kCalling ? "is not reached (is its host up and its port open?)"
                          : p.state == State::kGreeted ? "never answered"
                          : p.state == State::kJoined  ? "still waits for others"
                                                       : p.why.c_str();
      if (p.state == State::kReady || (p.state == State::kJoined && !told_)) continue;
      missing += say("%s%s: %s", missing.empty() ? "" : "; ", text(*p.peer).c_str(), known);
    }
    std::string all = say("rank %d was not joined with all other nodes within %lu ms: ", rank_, timeout_ms_) + missing;
    if (!told_) pronounce(all);
    fail(MK_EABORTED, all + ". Close this world and open a new one on all ranks");
  }

  int rank_;
  const Token& token_;
  uint64_t timeout_ms_;
  std::vector<Pair> pairs_;
  std::vector<Stranger> strangers_;
  bool told_ = false;
};

}  // namespace

std::string text(const Partner& p) {
  return say("rank %d (node %d, %s)", p.rank, p.node, text(p.address).c_str());
}

Door::Door(int rank, const Token& token, bool local)
    : rank_(rank), token_(token), address_(own_address(local)), listener_(listen_at(address_)) {}

std::vector<Fd> Door::join(const std::vector<Partner>& peers, uint64_t timeout_ms, const Stop* stop) {
  Joining joining(rank_, token_, peers, timeout_ms);
  try {
    return joining.run(listener_, stop);
  } catch (const Fail&) {
    if (stop && stop->raised()) unfinished_ = joining.sockets();
    throw;
  }
}

}  // namespace mk::rt::net
