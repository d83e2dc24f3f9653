#include "run.h"

#include <cstdio>
#include <stdexcept>

#include "launches.h"
#include "options.h"
#include "ranks.h"
#include "result.h"

namespace mk::run {

int run(const Kernel& kernel, int argc, char** argv) try {
  const int local = kernel.world / kernel.nodes;
  const Options options = parse(kernel, argc, argv);
  const Meeting& meeting = start(options.node < 0 ? kernel.world : local, options.processes,
                                 [&](Meeting& m, int rank) { run_rank(kernel, m, options, rank); }, options.node < 0 ? 0 : options.node * local);
  std::puts(json(kernel, options, meeting).c_str());
  return meeting.failed() ? 2 : 0;
} catch (const std::exception& e) {
  std::puts(json_error(e.what()).c_str());
  return 2;
}

}  // namespace mk::run
