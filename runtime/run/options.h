// Command line of the runner.
//   --target-kind host|cuda  --m N (repeatable; default: the largest)  --launches N (5)  --processes  --timeout-ms N
//   --node N --meet HOST:PORT (only the ranks of node N here; node 0 listens there for those that run the others)
//   --time N (timed launches; default 0 on the host, 20 on CUDA)  --seed N  --delay  --devices 0,1,... (by rank)
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "kernel.h"

namespace mk::run {

struct Options {
  bool cuda = false;
  std::vector<int64_t> m;
  int launches = 5, time = -1;
  bool processes = false, delay = false;
  uint64_t timeout_ms = 0, seed = 1;
  int node = -1;     // all nodes here
  std::string meet;  // where runners of different nodes do
  std::vector<int> devices;  // empty: rank modulo the number of devices
};

Options parse(const Kernel& kernel, int argc, char** argv);  // throws std::runtime_error with a sentence

}  // namespace mk::run
