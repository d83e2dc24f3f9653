// A stand-in for an EFA device, all ranks in one process: libibverbs.so.1 and libefa.so.1 that keep SRD's promises and no
// others. What is posted travels as packets that arrive in any order, between all that is under way; a write shows its
// immediate when all of it is there and the receiver has posted for it; the sender is told some time later; the queue may
// be full before its end. Refused, since a device would: writes without a signal, inline data, empty writes, memory that
// is not registered, registering what is not there. Built over the real headers.
#pragma once
#include <cstdint>

struct FakeSettings {
  uint64_t seed = 1;
  bool in_order = false;        // nothing overtakes anything
  bool no_write = false;        // a device without RDMA write
  bool port_down = false;
  uint64_t max_rdma = 1 << 30;  // bytes of one write
  uint32_t sends = 64;          // depth of a send queue; it says it is full from half of that on, at random
  uint32_t receives = 64;
};
struct FakeCounts {
  uint64_t writes, immediates, notes, full, late;  // late: arrivals that waited for a receive
  int64_t alive;                                   // contexts, queue pairs, memory regions and so on
};
extern "C" FakeSettings fake_settings;
extern "C" FakeCounts fake_counts;
