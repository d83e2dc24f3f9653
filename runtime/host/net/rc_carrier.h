// How the writes to one peer travel over a connection: straight between the heaps (rc_direct.cc), or through pinned
// memory of both hosts where the NIC of either cannot reach its heap (rc_bounce.cc).
#pragma once
#include <memory>

#include "rc.h"

namespace mk::rt::net {

// Host memory that a peer writes into.
struct alignas(64) Desk {
  uint64_t hello;           // 1 when the peer is ready
  uint64_t ring, ring_key;  // before that: where it takes what bounces
  uint64_t filled;          // slots of the ring here that it has filled
  uint64_t emptied;         // slots of its own that it has emptied
};

// What a peer needs to write here; part of a card. Addresses as the NIC takes them.
struct Target {
  uint64_t heap, inbox, desk;
  uint32_t heap_key, desk_key;
  uint32_t direct;  // 0: the NIC does not reach the heap, and heap_key means nothing
};

// The local side.
struct Source {
  const Site& site;
  uint64_t heap;
  uint32_t heap_key;
};

class Carrier {
 public:
  virtual ~Carrier() = default;
  virtual bool post(const Write& write) = 0;
  virtual void poll(Events& events) = 0;
  virtual bool settled() const { return true; }
};

std::unique_ptr<Carrier> direct_carrier(Connection& connection, const Source& source, const Target& target);

// A ring slot: a head, and then the bytes.
constexpr uint32_t kRing = 16;
constexpr uint32_t kRingSlot = 256 << 10;
constexpr uint64_t kRings = 2 * uint64_t(kRing) * kRingSlot;
// desk: after the peer's hello. rings: kRings bytes, first the slots that the peer fills, then those from which this side sends.
std::unique_ptr<Carrier> bounce_carrier(Connection& connection, const Source& source, const Target& target, Desk& desk,
                                        const HostRegion& rings);

}  // namespace mk::rt::net
