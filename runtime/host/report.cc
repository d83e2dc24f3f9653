#include "report.h"

#include "fail.h"

namespace mk::rt {
namespace {

std::string who(const Report& r) {
  constexpr size_t roles = sizeof kRoleNames / sizeof *kRoleNames;
  const char* role = size_t(r.role) < roles ? kRoleNames[size_t(r.role)] : "unknown";
  std::string text = say("rank %u: launch %u: role %s, cta %u", r.reporter, r.epoch, role, r.cta);
  if (r.role == Role::kCompute) text += say(", tile (%u, %u)", r.tile_row, r.tile_col);
  return text;
}

// Kernels report the whole of Control::entered: the launch in the upper half, the tag of its rows in the lower.
uint64_t launch_of(uint64_t entered) { return entered >> 32 ? entered >> 32 : entered; }

std::string late(const Report& r, uint64_t timeout_ms) {
  return say(
      "deadline %lu ms passed. Rank %u is dead, stuck or was never launched; close this world and open a new one",
      timeout_ms * (r.wanted == Wanted::kSum ? kPatience : 1), r.peer);
}

}  // namespace

std::string sentence(const Report& r, int self, uint64_t timeout_ms, const std::string& reason) {
  switch (r.wanted) {
    case Wanted::kChunk:
      return who(r) +
             say(" waited for chunk (%u, %u) of rank %u's shard: flag expected %lu, seen %lu; ", r.row, r.col, r.peer,
                 r.expected, r.seen) +
             late(r, timeout_ms);
    case Wanted::kPartial:
      return who(r) +
             say(" waited for rank %u's partial sums of rows %u to %u, tile column %u: flag expected %lu, seen %lu; ", r.peer,
                 r.row * 64, r.row * 64 + 63, r.col, r.expected, r.seen) +
             late(r, timeout_ms);
    case Wanted::kSum:
      return who(r) +
             say(" waited for rank %u's sum of rows %u to %u, tile column %u: flag expected %lu, seen %lu; ", r.peer, r.row * 64,
                 r.row * 64 + 63, r.col, r.expected, r.seen) +
             late(r, timeout_ms);
    case Wanted::kTaken:
      return who(r) +
             say(" waited for rank %u to take what it was sent of rows %u to %u, tile column %u, whose place is wanted: flag expected %lu, seen %lu; ",
                 r.peer, r.row * 64, r.row * 64 + 63, r.col, r.expected, r.seen) +
             late(r, timeout_ms);
    case Wanted::kEntered:
      return who(r) +
             say(" waited for rank %u to enter launch %lu, last seen in launch %lu; ", r.peer, launch_of(r.expected),
                 launch_of(r.seen)) +
             late(r, timeout_ms);
    case Wanted::kSameM:
      return say(
          "rank %u: launch %u: launched with M = %lu but rank %u with M = %lu: launch with the same M on all ranks; "
          "close this world and open a new one",
          r.reporter, r.epoch, r.expected, r.peer, r.seen);
    case Wanted::kSameRows:
      return say(
          "rank %u: launch %u: rank %u was launched with other rows (the hashes of what the two were given are %08lx "
          "here and %08lx there): launch with the same rows of each rank on all ranks; close this world and open a new one",
          r.reporter, r.epoch, r.peer, r.expected, r.seen);
    case Wanted::kFifo:
      return who(r) + say(" waited for the proxy to take command %lu, and it has taken %lu: the network is stuck or slower than "
                          "the deadline of %lu ms; close this world and open a new one", r.expected, r.seen, timeout_ms);
    case Wanted::kDrained:
      return who(r) + say(" waited for the network to have read what lane %u sent two launches ago: expected %lu, seen %lu; a peer is stuck, "
                          "or the network slower than the deadline of %lu ms; close this world and open a new one",
                          r.row, r.expected, r.seen, timeout_ms);
    case Wanted::kNetwork:
      return say("rank %u: role proxy: %s; close this world and open a new one", r.reporter,
                 reason.empty() ? "a transfer to another node failed; see that rank's own error" : reason.c_str());
    case Wanted::kJoin:
      return say("rank %u could not join, which ends this world on all ranks%s%s", r.reporter,
                 reason.empty() ? "; see that rank's own error" : ": ", reason.c_str());
    case Wanted::kAbort:
      if (int(r.reporter) != self)
        return say("rank %u: its host called mk_abort, which ends this world on all ranks%s%s", r.reporter,
                   reason.empty() ? "; see that rank's own error" : ": ", reason.c_str());
      return say("rank %u: the host called mk_abort: %s", r.reporter,
                 reason.empty() ? "no reason given" : reason.c_str());
  }
  return who(r) + say(" gave up for an unknown reason (%u)", unsigned(r.wanted));
}

}  // namespace mk::rt
