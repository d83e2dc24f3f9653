// The kernel on one rank: launches, checks and times every M in turn on one world.
#pragma once
#include "options.h"
#include "ranks.h"

namespace mk::run {

void run_rank(const Kernel& kernel, Meeting& meeting, const Options& options, int rank);

}  // namespace mk::run
