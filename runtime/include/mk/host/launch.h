// From a Grid to threads: one per role-warp (lanes) or warpgroup. Of a kind with more than kMaxLanes CTAs, kHostCtas run:
// their number is a matter of speed, which the CPU has none of; fewer may have work of their own each (inter_send). A launch returns when the kernel has ended.
#pragma once
#include <thread>
#include <vector>

namespace mk {

inline constexpr int kHostCtas = 2;

class Launch {
 public:
  template <int Threads, int Entry, class... Kinds, class Globals>
  void start(Grid<Threads, Entry, Kinds...>, const Globals& globals) {
    (start_kind(Kinds{}, globals), ...);
  }
  uint32_t ctas() const { return ctas_; }
  void join() { for (auto& thread : threads_) thread.join(); }

 private:
  template <class Shared, int Count, class... Roles, class Globals>
  void start_kind(Ctas<Shared, Count, Roles...>, const Globals& globals) {
    constexpr int ctas = Count <= kMaxLanes ? Count : kHostCtas;
    for (int cta = 0; cta < ctas; ++cta, ++ctas_) {
      auto shared = std::make_shared<Shared>();
      shared->init();
      (start_role(Roles{}, globals, shared, cta, ctas), ...);
    }
  }
  template <int First, int Registers, class... OneLanes, class Globals, class Shared>
  void start_role(Lanes<First, Registers, OneLanes...>, const Globals& globals, std::shared_ptr<Shared> shared, int cta, int ctas) {
    (start_units<typename OneLanes::Program>(OneLanes::kUnits, globals, shared, cta, ctas), ...);
  }
  template <class Role, int First, int Count, int Registers, class Globals, class Shared>
  void start_role(Warpgroups<Role, First, Count, Registers>, const Globals& globals, std::shared_ptr<Shared> shared, int cta, int ctas) {
    start_units<Role>(Count, globals, shared, cta, ctas);
  }
  template <class Role, class Globals, class Shared>
  void start_units(int units, const Globals& globals, std::shared_ptr<Shared> shared, int cta, int ctas) {
    for (int unit = 0; unit < units; ++unit)
      threads_.emplace_back([&globals, shared, cta, ctas, unit] { Role::run(globals, *shared, Where{cta, ctas, unit}); });
  }
  std::vector<std::thread> threads_;
  uint32_t ctas_ = 0;
};

struct OnDevice {
  explicit OnDevice(int) {}
  int check(const Error&) const { return MK_OK; }
};

template <class GridT, class Entry>
int prepare(Entry, int, const Error&) { return MK_OK; }

template <class GridT, class Globals>
int launch(void (*)(const Globals&), int, const Globals& globals, void*, const Error&) {
  Launch launch;
  launch.start(GridT{}, globals);
  launch.join();
  for (uint32_t cta = 0; cta < launch.ctas(); ++cta) leave_kernel(globals.world.own(), launch.ctas());
  return MK_OK;
}

}  // namespace mk

// Defines a tag for the kernel `name`.
#define MK_KERNEL(name, GridT, Globals) \
  static void name(const Globals&) {}
