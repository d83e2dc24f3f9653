// The ranks of a node meet in every launch: each tells the others that it has come, so is done with the launch before, and
// sees them come with the same rows.
#pragma once

namespace mk {

template <class World>
MK_DEVICE void enter(const World& world, uint32_t epoch, uint32_t tag) {
  for (int step = 1; step < World::kLocal; ++step)
    signal(world.of(world.after(step)).entered + world.rank, entered_word(epoch, tag));
}

// A peer has come to the launch and with the rows that `want` tells, as its word `entered` says; false once anybody has given
// up. A peer seen in a later launch has met this rank.
template <class Shards, class World>
MK_DEVICE bool met(Waiter<World>& waiter, const uint64_t* entered, uint64_t want, int peer) {
  if (!waiter.at_least(entered, want, {Wanted::kEntered, peer})) return false;
  const uint64_t seen = load_acquire(entered);
  if (seen >> 32 == want >> 32 && seen != want) {
    waiter.give_up({Shards::kAgreement, peer}, uint32_t(want), uint32_t(seen));
    return false;
  }
  return true;
}

// Every peer of the node has.
template <class Shards, class World>
MK_DEVICE void meet(const World& world, Waiter<World>& waiter, uint32_t epoch, uint32_t tag) {
  const uint64_t want = entered_word(epoch, tag);
  for (int step = 1; step < World::kLocal; ++step) {
    const int peer = world.after(step);
    const uint64_t* entered = world.own().entered + peer;
    if (!met<Shards>(waiter, entered, want, peer)) return;
  }
}

}  // namespace mk
