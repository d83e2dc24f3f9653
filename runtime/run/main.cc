// Runner of `mkgen run`: starts the ranks of one kernel's world, launches it, checks the result and prints JSON.
// Exit code 0 where everything was right, else 2.
#include <cstdio>
#include <stdexcept>

#include "ag_gemm.h"
#include "kernel.h"
#include "options.h"
#include "ranks.h"
#include "result.h"

using namespace mk::run;

int main(int argc, char** argv) {
  try {
    const Options options = parse(argc, argv);
    const Meeting& meeting =
        start(kernel::kWorld, options.processes, [&](Meeting& m, int rank) { ag_gemm(m, options, rank); });
    std::puts(json(options, meeting).c_str());
    return meeting.failed() ? 2 : 0;
  } catch (const std::exception& e) {
    std::puts(json_error(e.what()).c_str());
    return 2;
  }
}
