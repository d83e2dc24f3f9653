// Ranks as threads or as forked processes, and the memory they share: where they meet and what they leave behind.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "mk/abi.h"

namespace mk::run {

constexpr int kMaxRows = 64;

struct Row {
  double rel_err, ms;  // ms: median of the timed launches
};

struct Outcome {
  uint32_t failure;  // 0, or the order in which ranks failed, from 1
  char error[1024];
  Row rows[kMaxRows];
};

// Lies in memory that all ranks share.
struct Meeting {
  int first, world;  // ranks here
  std::atomic<uint32_t> arrived, failures;
  Outcome outcome[MK_MAX_WORLD];
  alignas(64) char blobs[MK_MAX_WORLD * 8192];

  bool failed() const { return failures.load() != 0; }
  bool meet();  // waits until every rank has come here as often; false once one of them has failed
  void fail(int rank, const std::string& error);
};

using Program = std::function<void(Meeting&, int rank)>;  // throws std::exception with a sentence

// Runs the program on `world` ranks from `first` on. Processes are forked here, so nothing may have started threads or CUDA before.
// Returns the shared memory, for good.
const Meeting& start(int world, bool processes, const Program& program, int first = 0);

// Sentences of the failed ranks, in the order in which they failed, each once.
std::vector<std::string> errors(const Meeting& meeting);

}  // namespace mk::run
