// Which roles a kernel has: kinds of CTAs, and the warps of each that run a role. One description serves both targets.
//
// A role is a struct with
//   MK_ROLE void run(const Globals&, Shared&, mk::Where)
// and shared memory is a struct with `MK_DEVICE void init()`, which makes its barriers ready.
#pragma once

namespace mk {

// Where a role program runs: CTA `cta` of the `ctas` of its kind, `unit` of the role's warps or warpgroups in that CTA.
struct Where { int cta, ctas, unit; };

// One lane of each of `Count` warps runs Role.
template <class Role, int Count = 1>
struct Lane {
  using Program = Role;
  static constexpr int kUnits = Count;
  static constexpr bool kWhole = false;
};

// All lanes of each of `Count` warps do.
template <class Role, int Count = 1>
struct Warp {
  using Program = Role;
  static constexpr int kUnits = Count;
  static constexpr bool kWhole = true;
};

// Lanes, and whole warps, side by side in warps from `First` (a multiple of 4). Registers: per thread, 0 leaves them as they are.
template <int First, int Registers, class... OneLanes>
struct Lanes {
  static constexpr int kFirstWarp = First, kRegisters = Registers, kWarps = ((OneLanes::kUnits + ...) + 3) / 4 * 4;
  static_assert(First % 4 == 0, "registers are reallocated by whole warpgroups");
};

// `Count` whole warpgroups from warp `First`.
template <class Role, int First, int Count, int Registers = 0>
struct Warpgroups {
  using Program = Role;
  static constexpr int kFirstWarp = First, kUnits = Count, kWarps = Count * 4, kRegisters = Registers;
  static constexpr bool kOneLane = false;
  static_assert(First % 4 == 0, "a warpgroup starts at a warp divisible by 4");
};

// `Count` CTAs that share one kind of shared memory and run the same roles.
template <class SharedMemory, int Count, class... Roles>
struct Ctas {
  using Shared = SharedMemory;
  static constexpr int kCount = Count;
};

// A launch: `Threads` threads a CTA, compiled for `EntryRegisters` registers a thread; kinds in block order.
template <int Threads, int EntryRegisters, class... Kinds>
struct Grid {
  static constexpr int kThreads = Threads, kEntryRegisters = EntryRegisters;
  static constexpr int kCtas = (Kinds::kCount + ...);
  static constexpr int largest(int a, int b) { return a > b ? a : b; }
  static constexpr int kShared = [] {
    int bytes = 0;
    ((bytes = largest(bytes, int(sizeof(typename Kinds::Shared)))), ...);
    return bytes;
  }();
};

}  // namespace mk
