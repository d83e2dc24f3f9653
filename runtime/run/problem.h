// Who owns which rows, the inputs of every launch, and the reference. A kernel that gathers has a shard of the rows of A on each
// rank, and all rows of C. One that reduces has all rows of A and a part of the columns on each rank, and a shard of the rows of
// C, or all_rows of it. Where a kernel takes the rows of each rank (max_rows > 0), or a K of each (any_k), these are drawn anew for every launch, so
// that some ranks have none and some have many.
//
// Inputs are a function of seed, launch and place, so any rank can make any other's: A in [-1, 1), B in [-1/16, 1/16), the bias
// and the residual in [-1, 1).
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
  struct Part { int a, b; int64_t k; };  // of the length of a dot product: ranks that name the values of A and B, columns

  int64_t m, n, k, max_rows;
  int world, rank;
  uint64_t seed;
  bool b_by_rows;  // B lies as [k, n]
  bool reduces, all_rows, any_k;
  Type in, out, partial;  // of A, B and the bias, of C, of sums on their way to it
  Epilogue epilogue;

  std::vector<int64_t> rows(int launch) const;    // of each rank's shard
  std::vector<int64_t> depths(int launch) const;  // K of each rank
  std::vector<uint16_t> a(int launch) const;      // this rank's part [rows(launch)[rank], k], or [m, depths(launch)[rank]]
  std::vector<uint16_t> b(int launch) const;      // [n, K] or [K, n]
  std::vector<uint16_t> bias(int launch) const;  // [n]
  std::vector<uint16_t> residual(int launch) const;  // like C, without the guard; nothing where none is added
  std::vector<uint16_t> poisoned_c() const;      // [c_rows(), c_columns()], then the guard
  size_t c_words() const { return size_t(c_rows() * c_columns() * words(out)) + kGuard; }
  int64_t c_rows() const { return all_rows ? m : rows(0)[rank]; }
  int64_t c_columns() const { return n / epilogue.fold(); }

  // Compares C (and the guard behind it) with a reference summed in double: every element of a small problem, else a
  // random one of every 32 x 32 block and a scan for what is not finite. Returns the relative error over all of C;
  // throws std::runtime_error naming the launch, the rank and the place where that is not below the bound, also over each shard.
  double check(const std::vector<uint16_t>& c, int launch) const;

 private:
  std::vector<Part> parts(int launch) const;
  std::vector<uint16_t> weights(int launch, const std::vector<Part>& of) const;  // [n, their K]
  void fill_residual(uint16_t* out, int launch, int64_t row) const;  // a row of the whole C
  int64_t first_row(int launch) const;                               // of C on this rank
  void fill_a(uint16_t* out, int launch, const std::vector<Part>& of, int64_t row) const;
};

}  // namespace mk::run
