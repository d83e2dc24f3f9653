// What one rank does to show that a backend keeps its promises: rounds of writes of random sizes to every peer and from
// every peer, all checked. The sources of a write are spoilt the moment it is done; what a word announces is checked the
// moment the word is there; targets are poisoned between rounds, and a peer may write again when it is given credit.
// Both sides draw the same numbers, so a receiver knows what must come.
#pragma once
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

#include "fail.h"
#include "net/backend.h"

namespace test {

using mk::rt::say;
namespace net = mk::rt::net;

struct Shape {
  uint64_t seed = 1;
  int rounds = 5;
  int writes = 12;            // a round and peer
  uint64_t largest = 40000;   // bytes of most writes
  uint64_t huge = 1200000;     // of one a round: several pieces
  uint32_t words = 40;        // at most, of one write
  uint64_t offset = 0;        // of everything in the heap
};

class Traffic final : public net::Events {
 public:
  // heap: this rank's, as the test reads it (not always site.heap->base()). words: the inbox, as the test reads it.
  Traffic(const Shape& shape, const net::Site& site, std::byte* heap, uint64_t* words, const std::vector<net::Peer>& peers);
  static uint64_t heap_bytes(const Shape& shape, int nodes);
  static uint32_t inbox_words(const Shape& shape, int nodes) { return per_peer_words(shape) * uint32_t(nodes); }

  void step(net::Backend& backend);  // a little of everything; throws std::runtime_error where a promise was broken
  bool finished() const;
  uint64_t refused() const { return refused_; }  // posts that found the queue full
  std::string state() const;

 private:
  struct Planned {
    net::Write write;   // offsets in the receiver's heap and the sender's
    uint64_t key;       // of its contents
    bool posted = false, seen = false;
  };
  struct Peer {
    int rank, node;
    int sending = 0, receiving = 0;  // rounds complete
    int credited = 0;                // rounds for which this side has yet to give credit, or has
    uint64_t flying = 0;
    std::vector<Planned> out, in;
  };

  static uint32_t per_peer_words(const Shape& s) { return uint32_t(s.writes) * s.words + 1; }
  static uint64_t area(const Shape& s) { return s.huge + uint64_t(s.writes) * (s.largest + 64) + 4096; }
  std::vector<Planned> plan(int from_rank, int from_node, int to_rank, int to_node, int round) const;
  uint64_t epoch(int from_rank, int to_rank, int round) const;
  void send(Peer& p, net::Backend& backend);
  void receive(Peer& p, net::Backend& backend);
  bool post(Peer& p, net::Write w, net::Backend& backend);
  uint64_t word(uint32_t slot) const { return std::atomic_ref(words_[slot]).load(std::memory_order_acquire); }

  void done(uint64_t id) override;
  void arrived(uint32_t slot, uint32_t words, uint64_t value) override;

  Shape shape_;
  net::Site site_;
  std::byte* heap_;
  uint64_t* words_;
  std::vector<Peer> peers_;
  struct Flying {
    size_t peer;
    uint64_t from, bytes;
  };
  std::map<uint64_t, Flying> flying_;
  uint64_t ids_ = 0, refused_ = 0;
};

}  // namespace test
