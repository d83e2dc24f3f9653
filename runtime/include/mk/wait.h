// Waits on peers. No wait is without an end (protocol rule 4): each watches the abort word and a deadline. The first to
// give up reports to every rank. From then on no wait of this launch blocks, so every role runs to its end and the
// barriers inside the CTAs stay balanced; what was computed is worthless and the host is told so.
#pragma once

namespace mk {

// A world as a kernel sees it: Size ranks on Nodes nodes, rank r on node r / kLocal.
template <int Size, int Nodes = 1>
struct World {
  static constexpr int kSize = Size, kNodes = Nodes, kLocal = Size / Nodes;
  static_assert(Size % Nodes == 0, "every node has as many ranks");
  Control* control[kLocal];  // of the ranks of this node, by index
  uint32_t* health;          // pinned host word of this rank
  uint64_t timeout_ns;
  int rank;
  MK_BOTH static int index_of(int rank) { return rank % kLocal; }
  MK_BOTH int index() const { return rank % kLocal; }
  MK_DEVICE Control& own() const { return *control[index()]; }
  MK_DEVICE Control& of(int rank) const { return *control[index_of(rank)]; }  // a rank of this node
  // In the ring of this node.
  MK_DEVICE int after(int steps) const { return rank - index() + (index() + steps) % kLocal; }
  MK_DEVICE int before(int steps) const { return rank - index() + (index() - steps + kLocal) % kLocal; }
  // The rank of the same index, so many nodes on or back.
  MK_DEVICE int twin(int nodes) const { return (rank + nodes * kLocal) % Size; }
  MK_DEVICE int twin_before(int nodes) const { return (rank + (Nodes - nodes) * kLocal) % Size; }
};

// Control::entered
MK_DEVICE uint64_t entered_word(uint32_t epoch, uint32_t tag) { return uint64_t(epoch) << 32 | tag; }

// Place of a wait, for the report.
struct Place {
  Wanted wanted;
  int peer;
  int row = 0, column = 0;            // chunk
  int tile_row = 0, tile_column = 0;  // output tile in work
};

MK_DEVICE bool reached(uint32_t seen, uint32_t want) { return int32_t(seen - want) >= 0; }
MK_DEVICE bool reached(uint64_t seen, uint64_t want) { return reached(uint32_t(seen >> 32), uint32_t(want >> 32)); }

template <class World>
class Waiter {
 public:
  MK_DEVICE Waiter(const World& world, Role role, int cta, uint32_t epoch)
      : world_(world), role_(role), cta_(cta), epoch_(epoch) {}

  // Waits until *flag has come to `want`; false once anybody in the world has given up. After true, loads and copies
  // issued by this thread see what the signalling thread had written.
  template <class Word>
  MK_DEVICE bool at_least(const Word* flag, Word want, const Place& place) {
    if (gave_up_) return false;
    Word seen = load_acquire(flag);
    if (!reached(seen, want) && !spin(flag, want, seen, place)) return false;
    fence_async_global();
    return true;
  }

  // The same for flags of `Count` ranks, or nodes, by step, `stride` words apart: peer(step) is the rank whose flag that is, or -1 where it
  // sends nothing. They are looked at together: one after the other, each would take a round trip to L2. place.peer is
  // filled in.
  template <int Count = World::kSize, class Peer>
  MK_DEVICE bool all_at_least(const uint32_t* first, int stride, const Peer& peer, uint32_t want, Place place) {
    if (gave_up_) return false;
    uint32_t seen[Count];
    MK_UNROLL
    for (int step = 0; step < Count; ++step) seen[step] = look(first + step * stride);
    bool there = true;
    MK_UNROLL
    for (int step = 0; step < Count; ++step) there = there && (reached(seen[step], want) || peer(step) < 0);
    fence_looked();
    if (there) fence_async_global();
    for (int step = 0; !there && step < Count; ++step) {
      place.peer = peer(step);
      if (place.peer >= 0 && !at_least(first + step * stride, want, place)) return false;
    }
    return true;
  }

  // Ends this launch on all ranks of this node, naming the place; the proxy tells the other nodes.
  MK_DEVICE void give_up(const Place& place, uint64_t expected, uint64_t seen) {
    for (int i = 0; i < World::kLocal; ++i) {
      Control& control = *world_.control[i];
      if (claim(&control.report.claimed)) {
        Report& to = control.report;
        to.reporter = uint32_t(world_.rank);
        to.role = role_;
        to.wanted = place.wanted;
        to.cta = uint32_t(cta_);
        to.tile_row = uint32_t(place.tile_row);
        to.tile_col = uint32_t(place.tile_column);
        to.row = uint32_t(place.row);
        to.col = uint32_t(place.column);
        to.peer = uint32_t(place.peer);
        to.epoch = epoch_;
        to.expected = expected;
        to.seen = seen;
        signal(&to.complete, 1u);
      }
      signal(&control.abort, uint32_t(world_.rank) + 1);
    }
    // Another may have claimed this rank's report and still be writing it: the host must not look before it is there.
    const uint64_t start = now_ns();
    while (load_acquire(&world_.own().report.complete) == 0 && now_ns() - start <= world_.timeout_ns) pause();
    leave(uint32_t(world_.rank) + 1);
  }

  MK_DEVICE bool gave_up() const { return gave_up_; }

 private:
  template <class Word>
  MK_DEVICE bool spin(const Word* flag, Word want, Word& seen, const Place& place) {
    const uint64_t start = now_ns();
    for (;;) {
      for (int i = 0; i < kLooks; ++i) {
        seen = load_acquire(flag);
        if (reached(seen, want)) return true;
        pause();
      }
      if (const uint32_t who = load_acquire(&world_.own().abort)) {
        leave(who);
        return false;
      }
      if (now_ns() - start > world_.timeout_ns * (place.wanted == Wanted::kSum ? kPatience : 1)) {
        give_up(place, want, seen);
        return false;
      }
    }
  }
  MK_DEVICE void leave(uint32_t who) {
    gave_up_ = true;
    signal(world_.health, who);
  }

  static constexpr int kLooks = 32;  // at the flag between two looks at the abort word and the clock
  const World& world_;
  Role role_;
  int cta_;
  uint32_t epoch_;
  bool gave_up_ = false;
};

// The launch now running, from 1. The last CTA to leave advances it, so a replayed launch has a new one.
MK_DEVICE uint32_t this_epoch(const Control& control) { return load_relaxed(&control.epoch) + 1; }

// Every CTA calls this once, when its roles have ended.
MK_DEVICE void leave_kernel(Control& control, uint32_t ctas) {
  const uint32_t epoch = this_epoch(control);
  if ((add_device(&control.exits, 1u) + 1) % ctas == 0) signal(&control.epoch, epoch);
}

}  // namespace mk
