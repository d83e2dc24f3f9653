// What ranks share in the symmetric heap, read and written by kernels (device) and by libmkrt (host).
#pragma once
#include <cstdint>

namespace mk {

constexpr int kMaxWorld = 8;

enum class Role : uint32_t { kCompute = 0, kIntraComm = 1, kInterSend = 2, kInterReduce = 3, kHost = 4 };
inline constexpr const char* kRoleNames[] = {"compute", "intra_comm", "inter_send", "inter_reduce", "host"};

// What a wait was for; with Report::row and col it names the thing.
enum class Wanted : uint32_t { kEntered = 0, kChunk = 1, kSameM = 2, kAbort = 3, kSameRows = 4 };
//   kEntered:   that peer reaches launch `expected` (credit for its gather buffer); row and col unused
//   kChunk:     chunk (row, col) of peer's shard arrives in launch `expected`
//   kSameM:     peer launches with the same M: expected = own M, seen = the peer's
//   kAbort:     the host called mk_abort
//   kSameRows:  peer launches with the same rows of each rank: expected = hash of the own ones, seen = of the peer's

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
};

}  // namespace mk
