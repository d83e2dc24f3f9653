// Writes over TCP, one connection for each peer and lane. Bytes pass through a ring of pinned memory on either side; where
// the receiver's is full, TCP holds the sender back.
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <linux/sockios.h>

#include <atomic>
#include <chrono>

#include "door.h"
#include "tcp_stream.h"

namespace mk::rt::net {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kSocketBuffer = 4 << 20;

struct Contents {  // of the card
  Address address;
  Token token;
};
static_assert(sizeof(Contents) <= sizeof(Card));

Token random_token() {
  Token t;
  if (::getrandom(t.data(), t.size(), 0) != ssize_t(t.size())) fail_errno("getrandom");
  return t;
}

struct Link {
  Partner peer;
  Fd socket;
  Outgoing out;
  Incoming in;
  int send_error = 0;
  bool ended = false;  // in order, by the peer

  Link(const Partner& p, Fd s, const Site& site, Copies& outwards, Copies& inwards)
      : peer(p), socket(std::move(s)), out(*site.device, outwards, *site.heap),
        in(*site.device, inwards, *site.heap, site.inbox_words, text(p)) {}
};

struct Deaf final : Events {
  void done(uint64_t) override {}
  void arrived(uint32_t, uint32_t, uint64_t) override {}
};

class Tcp final : public Backend {
 public:
  explicit Tcp(const Site& site)
      : site_(site), token_(random_token()), door_(std::make_unique<Door>(site.rank, token_, false)),
        address_(door_->address()), by_node_(size_t(site.nodes), nullptr), outwards_(site.device->copies()),
        inwards_(site.device->copies()) {}

  ~Tcp() override {
    try {
      if (!failed_ && !std::atomic_ref(*site_.device->health()).load(std::memory_order_acquire)) close_in_order();
    } catch (const Fail&) {  // a peer that is gone needs nothing more
    }
  }

  Card card() const override {
    const Contents c{address_, token_};
    Card card{};
    std::memcpy(card.data(), &c, sizeof c);
    return card;
  }

  void connect(const std::vector<Peer>& peers) override {
    std::vector<Partner> partners;
    for (const Peer& p : peers) {
      Contents c;
      std::memcpy(&c, p.card.data(), sizeof c);
      partners.push_back({p.rank, p.node, c.address, c.token});
    }
    std::vector<Fd> sockets = door_->join(partners, site_.timeout_ms, site_.stop);
    if (site_.stop) site_.stop->check();
    door_.reset();
    for (size_t i = 0; i < partners.size(); ++i) {
      for (int which : {SO_SNDBUFFORCE, SO_RCVBUFFORCE})  // where that is not allowed, the system's own tuning is best
        ::setsockopt(sockets[i].get(), SOL_SOCKET, which, &kSocketBuffer, sizeof kSocketBuffer);
      links_.push_back(std::make_unique<Link>(partners[i], std::move(sockets[i]), site_, *outwards_, *inwards_));
      by_node_[size_t(partners[i].node)] = links_.back().get();
    }
  }

  bool post(const Write& w) override {
    Link* link = w.node >= 0 && w.node < site_.nodes ? by_node_[size_t(w.node)] : nullptr;
    if (!link || w.bytes > site_.heap->bytes() || w.from > site_.heap->bytes() - w.bytes)
      end(say("rank %d: a write of %lu bytes from offset %lu to node %d: no such peer, or outside the heap of %lu bytes",
              site_.rank, w.bytes, w.from, w.node, site_.heap->bytes()));
    if (link->ended && w.bytes) closed(*link);
    return link->out.post(w);
  }

  void poll(Events& events) override {
    try {
      for (auto& link : links_) pump(*link, events);
    } catch (const Fail& f) {
      end(say("rank %d, lane %d: ", site_.rank, site_.lane) + f.text);
    }
  }

 private:
  void pump(Link& l, Events& events) {
    if (l.ended) {
      l.in.advance(inwards_->finished(), events);
      if (l.out.carries_bytes()) closed(l);
      return l.out.drop(events);
    }
    l.out.fill();
    l.out.advance(outwards_->finished(), events);
    if (!l.send_error) l.send_error = l.out.send(l.socket.get());  // what came before the end is still to be read
    int error = 0;
    const auto got = l.in.receive(l.socket.get(), error);
    l.in.advance(inwards_->finished(), events);
    if (got != Incoming::Got::kEnd) return;
    if (!l.in.goodbye())
      fail(MK_EABORTED, text(l.peer) + ": " + ending(l.send_error ? l.send_error : error, site_.timeout_ms));
    l.ended = true;
  }

  [[noreturn]] void closed(const Link& l) {
    end(say("rank %d, lane %d: %s has closed its world while there were bytes to be sent to it", site_.rank, site_.lane,
            text(l.peer).c_str()));
  }
  [[noreturn]] void end(const std::string& why) {
    failed_ = true;
    fail(MK_EABORTED, why);
  }

  // All that was posted is with the peer's system, and so is the goodbye, before the socket is closed: otherwise what a peer
  // still sends would reset the connection.
  void close_in_order() {
    const auto deadline = Clock::now() + std::chrono::milliseconds(site_.timeout_ms);
    Deaf nobody;
    std::vector<pollfd> open;
    for (auto& l : links_) l->out.goodbye();
    std::vector<bool> shut(links_.size());
    do {
      open.clear();
      for (size_t i = 0; i < links_.size(); ++i) {
        Link& l = *links_[i];
        if (l.ended) continue;
        try {
          pump(l, nobody);
        } catch (const Fail&) {
          l.ended = true;
        }
        if (l.ended || l.send_error) continue;
        if (l.out.empty() && !shut[i]) {
          shut[i] = true;
          ::shutdown(l.socket.get(), SHUT_WR);
        }
        int unacknowledged = 0;
        ::ioctl(l.socket.get(), SIOCOUTQ, &unacknowledged);
        if (!shut[i] || unacknowledged) open.push_back({l.socket.get(), short(POLLIN | (shut[i] ? 0 : POLLOUT)), 0});
      }
      if (!open.empty()) ::poll(open.data(), open.size(), 1);
    } while (!open.empty() && Clock::now() < deadline);
  }

  const Site site_;
  const Token token_;
  std::unique_ptr<Door> door_;  // until all are connected
  const Address address_;
  std::vector<std::unique_ptr<Link>> links_;
  std::vector<Link*> by_node_;
  std::unique_ptr<Copies> outwards_, inwards_;  // end before the rings do
  bool failed_ = false;
};

}  // namespace

std::unique_ptr<Backend> tcp_backend(const Site& site) { return std::make_unique<Tcp>(site); }

}  // namespace mk::rt::net
