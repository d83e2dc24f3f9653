// What ranks share in the symmetric heap, read and written by kernels (device) and by libmkrt (host).
#pragma once
#include <cstdint>

#include "mk/net.h"

namespace mk {

constexpr int kMaxWorld = 64;

enum class Role : uint32_t { kCompute = 0, kIntraComm = 1, kInterSend = 2, kInterReduce = 3, kHost = 4, kInterRecv = 5, kProxy = 6 };
inline constexpr const char* kRoleNames[] = {"compute", "intra_comm", "inter_send", "inter_reduce", "host", "inter_recv", "proxy"};

// What a wait was for; with Report::row and col it names the thing.
enum class Wanted : uint32_t { kEntered = 0, kChunk = 1, kSameM = 2, kAbort = 3, kSameRows = 4, kFifo = 5, kDrained = 6, kNetwork = 7, kPartial = 8, kSum = 9, kTaken = 10, kJoin = 11 };
//   kEntered:   that peer reaches launch `expected` (credit for its gather buffer); row and col unused
//   kChunk:     chunk (row, col) of peer's shard arrives in launch `expected`
//   kSameM:     peer launches with the same M: expected = own M, seen = the peer's
//   kAbort:     the host called mk_abort
//   kSameRows:  peer launches with the same rows of each rank: expected = hash of the own ones, seen = of the peer's
//   kFifo:      the proxy takes command `expected` of lane row, seen = the last that it took
//   kDrained:   the network has read what lane row sent two launches ago: inter_send waits for commands, intra_comm for
//               inter_send to have seen that, in launch `expected`
//   kPartial:   what peer has summed up of the own tile (row, col), counted in blocks of 64 rows, arrives in launch `expected`
//   kSum:       what peer has added up of those rows of tile (row, col) arrives in launch `expected`
//   kTaken:     peer takes what this rank sent it of tile (row, col) before, and frees the place, in launch `expected`
//   kJoin:      nothing: the reporter could not join
//   kNetwork:   nothing: a transfer to or from peer failed, or its connection ended

// How many deadlines a wait for a kSum lasts. What a peer adds up it waits for itself: whoever waits for the one that is missing
// shall be the first to give up, and name it.
constexpr int kPatience = 2;

// Where a role stood when it gave up. Written once per rank, by whoever claims it first.
struct Report {
  uint32_t claimed;    // 0, then 1: whoever changes it writes the rest
  uint32_t complete;   // 1 once the rest is written
  uint32_t reporter;   // rank that gave up
  Role role;
  Wanted wanted;
  uint32_t cta;
  uint32_t tile_row, tile_col;  // output tile in work (compute)
  uint32_t row, col;            // chunk waited for
  uint32_t peer;
  uint32_t epoch;               // launch in which it happened, from 1
  uint64_t expected, seen;
};

// At the start of each kernel's region of the symmetric heap; zeroed by libmkrt. Flags only grow (protocol rule 1).
struct alignas(256) Control {
  uint32_t epoch;                 // last finished launch; advanced by the kernel's last CTA
  uint32_t exits;                 // CTAs that have left, over all launches
  alignas(128) uint32_t abort;    // nonzero ends every wait; written by any rank
  alignas(128) Report report;
  alignas(128) uint64_t entered[kMaxWorld];  // by peer: launch epoch it has entered << 32 | tag of its rows
  // Of this rank's device alone, by lane of inter_send:
  alignas(128) uint32_t tickets[kMaxLanes];  // commands pushed so far
  uint32_t sent[2][kMaxLanes];               // the same when the last launch of each parity ended
  uint32_t drained[kMaxLanes];               // launch whose outbox may be written: what it held has been read
};

}  // namespace mk
