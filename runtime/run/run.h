// The runner of `mkgen run`.
#pragma once
#include "kernel.h"

namespace mk::run {

// Starts the ranks of a kernel's world, launches it, checks the results and prints JSON. Returns the exit code: 0 where
// everything was right, else 2.
int run(const Kernel& kernel, int argc, char** argv);

}  // namespace mk::run
