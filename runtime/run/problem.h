// AllGather+GEMM: who owns which rows, the inputs of every launch, and the reference. Where the kernel takes the rows of
// each rank (max_rows > 0), they are drawn anew for every launch, so that some ranks have none and some have many.
//
// Inputs are a function of seed, launch and place, so any rank can make any other's: A in [-1, 1), B in [-1/16, 1/16), the bias in
// [-1, 1).
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "element.h"
#include "epilogue.h"

namespace mk::run {

constexpr int kGuard = 64;            // words after the end of C that must stay as they are
constexpr uint16_t kPoison = 0x7fff;  // a NaN in every type: what C holds before a launch
constexpr uint16_t kGuardBits = 0x5aa5;

struct Problem {
  int64_t m, n, k, max_rows;
  int world, rank;
  uint64_t seed;
  bool b_by_rows;  // B lies as [k, n]
  Type in, out;  // of A, B and the bias, of C
  Epilogue epilogue;

  std::vector<int64_t> rows(int launch) const;   // of each rank
  std::vector<uint16_t> a(int launch) const;     // this rank's shard [rows(launch)[rank], k]
  std::vector<uint16_t> b(int launch) const;     // [n, k] or [k, n]
  std::vector<uint16_t> bias(int launch) const;  // [n]
  std::vector<uint16_t> poisoned_c() const;      // [m, c_columns()], then the guard
  size_t c_words() const { return size_t(m * c_columns() * words(out)) + kGuard; }
  int64_t c_columns() const { return n / epilogue.fold(); }

  // Compares C (and the guard behind it) with a reference summed in double: every element of a small problem, else a
  // random one of every 32 x 32 block and a scan for what is not finite. Returns the relative error over all of C;
  // throws std::runtime_error naming the launch, the rank and the place where that is not below the bound, also over each shard.
  double check(const std::vector<uint16_t>& c, int launch) const;

 private:
  std::vector<uint16_t> weights(int launch) const;  // [n, k]
};

}  // namespace mk::run
