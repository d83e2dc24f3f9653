// Runs the runner's program on one world after another in this process and prints how each rank ended:
//   world 0, rank 2: right
// Arguments are the runner's. Ranks that are processes get one world only.
#include <cstdio>

#include "kernel.cc"
#include "launches.h"
#include "options.h"
#include "ranks.h"

using namespace mk::run;

int main(int argc, char** argv) {
  const Options options = parse(kernel, argc, argv);
  for (int world = 0; world < (options.processes ? 1 : 2); ++world) {
    const Meeting& meeting =
        start(kernel.world, options.processes, [&](Meeting& m, int rank) { run_rank(kernel, m, options, rank); });
    for (int rank = 0; rank < kernel.world; ++rank) {
      const Outcome& o = meeting.outcome[rank];
      std::printf("world %d, rank %d: %s\n", world, rank, o.failure ? o.error : meeting.failed() ? "stopped" : "right");
    }
  }
}
