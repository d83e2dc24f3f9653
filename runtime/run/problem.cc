#include "problem.h"

#include <cmath>
#include <stdexcept>

namespace mk::run {
namespace {

constexpr int64_t kBlock = 32, kFull = int64_t(1) << 25;  // m * n * k up to which every element is compared

uint64_t mix(uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

uint16_t narrow(Type t, float f) { return t == Type::kFp16 ? rounded<fp16>(f).bits : rounded<bf16>(f).bits; }

// k random values from -scale to scale; k is a multiple of 4.
void fill_row(Type type, uint16_t* out, int64_t k, uint64_t key, float scale) {
  for (int64_t i = 0; i < k; i += 4) {
    uint64_t bits = mix(key + uint64_t(i));
    for (int j = 0; j < 4; ++j, bits >>= 16) out[i + j] = narrow(type, float(int16_t(bits)) * (scale / 32768));
  }
}

enum class Matrix : uint64_t { kA = 1, kB = 2, kSample = 3, kRows = 4, kBias = 5 };

uint64_t key(uint64_t seed, int launch, Matrix which, uint64_t owner, int64_t row) {
  return mix(mix(mix(mix(seed) + uint64_t(launch)) + uint64_t(which) * 1000 + owner) + uint64_t(row));
}

template <Type T>
double dot(const uint16_t* a, const uint16_t* b, int64_t k) {
  double sum[8] = {};
  for (int64_t i = 0; i < k; i += 8)
    for (int j = 0; j < 8; ++j) sum[j] += double(value<T>(a + i + j)) * double(value<T>(b + i + j));
  return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

struct Norms {
  double difference = 0, reference = 0;
  void add(double got, double want) {
    difference += (got - want) * (got - want);
    reference += want * want;
  }
  double relative() const { return difference == 0 ? 0 : std::sqrt(difference / reference); }
};

[[noreturn]] void wrong(const Problem& p, int launch, const std::string& what) {
  throw std::runtime_error("rank " + std::to_string(p.rank) + ": launch " + std::to_string(launch + 1) +
                           ", M = " + std::to_string(p.m) + ": " + what);
}

int owner(const std::vector<int64_t>& rows, int64_t row) {
  int r = 0;
  for (; row >= rows[r]; ++r) row -= rows[r];
  return r;
}

void scan(const Problem& p, const std::vector<uint16_t>& c, int launch) {
  const int64_t columns = p.c_columns(), size = p.m * columns;
  int64_t bad = 0, first = 0;
  for (int64_t i = size - 1; i >= 0; --i)
    if (!std::isfinite(value(p.out, &c[i * words(p.out)]))) ++bad, first = i;
  if (bad)
    wrong(p, launch,
          std::to_string(bad) + " elements of C are not finite or were never written, the first in row " +
              std::to_string(first / columns) + ", column " + std::to_string(first % columns) + ", of rank " +
              std::to_string(owner(p.rows(launch), first / columns)) + "'s shard");
  for (int i = 0; i < kGuard; ++i)
    if (c[size * words(p.out) + i] != kGuardBits)
      wrong(p, launch, "element " + std::to_string(i / words(p.out)) + " after the end of C was overwritten");
}

}  // namespace

std::vector<int64_t> Problem::rows(int launch) const {
  std::vector<int64_t> out(world);
  for (int r = 0; r < world; ++r) out[r] = m / world + (r < m % world);
  if (max_rows == 0) return out;
  // Each rank in turn hands a random part of its rows to a random other, as far as that one has room.
  for (int r = 0; r < world; ++r) {
    const uint64_t draw = key(seed, launch, Matrix::kRows, 0, r);
    int64_t& to = out[draw % world];
    const int64_t most = std::min(out[r], max_rows - to), moved = draw >> 8 & 1 ? most : int64_t((draw >> 16) % uint64_t(most + 1));
    out[r] -= moved;
    to += moved;
  }
  return out;
}

std::vector<uint16_t> Problem::a(int launch) const {
  const std::vector<int64_t> all = rows(launch);
  int64_t begin = 0;
  for (int r = 0; r < rank; ++r) begin += all[r];
  std::vector<uint16_t> shard(all[rank] * k);
  for (int64_t i = 0; i < all[rank]; ++i)
    fill_row(in, &shard[i * k], k, key(seed, launch, Matrix::kA, 0, begin + i), 1.0f);
  return shard;
}

std::vector<uint16_t> Problem::b(int launch) const {
  std::vector<uint16_t> rows = weights(launch);
  if (!b_by_rows) return rows;
  std::vector<uint16_t> turned(rows.size());
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < k; ++i) turned[i * n + j] = rows[j * k + i];
  return turned;
}

std::vector<uint16_t> Problem::weights(int launch) const {
  std::vector<uint16_t> rows(n * k);
  for (int64_t j = 0; j < n; ++j) fill_row(in, &rows[j * k], k, key(seed, launch, Matrix::kB, uint64_t(rank), j), 1.0f / 16);
  return rows;
}

std::vector<uint16_t> Problem::bias(int launch) const {
  std::vector<uint16_t> vector(n);
  fill_row(in, vector.data(), n, key(seed, launch, Matrix::kBias, uint64_t(rank), 0), 1.0f);
  return vector;
}

std::vector<uint16_t> Problem::poisoned_c() const {
  std::vector<uint16_t> c(c_words(), kPoison);
  std::fill(c.end() - kGuard, c.end(), kGuardBits);
  return c;
}

double Problem::check(const std::vector<uint16_t>& c, int launch) const {
  scan(*this, c, launch);
  const int64_t columns = c_columns();
  const std::vector<uint16_t> across = weights(launch), added = bias(launch);
  const bool full = m * n * k <= kFull;
  const auto dot_of = in == Type::kFp16 ? dot<Type::kFp16> : dot<Type::kBf16>;
  const double limit = bound(out);
  std::vector<uint16_t> line(k);
  const auto product = [&](int64_t j) {
    return dot_of(line.data(), &across[j * k], k) + (epilogue.bias ? double(value(in, &added[j])) : 0.0);
  };
  std::vector<Norms> shards(world);
  const std::vector<int64_t> owned = rows(launch);
  // One row of A at a time: all its columns, or those of the blocks for which it was drawn.
  for (int64_t row = 0; row < m; ++row) {
    bool made = false;
    const int64_t top = row / kBlock * kBlock, height = std::min(kBlock, m - top);
    for (int64_t left = 0; left < columns; left += kBlock) {
      const int64_t width = std::min(kBlock, columns - left);
      const uint64_t draw = full ? 0 : key(seed, launch, Matrix::kSample, uint64_t(top), left);
      if (!full && top + int64_t(draw % uint64_t(height)) != row) continue;
      if (!made) fill_row(in, line.data(), k, key(seed, launch, Matrix::kA, 0, row), 1.0f);
      made = true;
      const int64_t drawn = left + int64_t((draw >> 32) % uint64_t(width));
      for (int64_t col = full ? left : drawn; col < (full ? left + width : drawn + 1); ++col)
        shards[owner(owned, row)].add(value(out, &c[(row * columns + col) * words(out)]), epilogue.apply(col, product));
    }
  }
  Norms all;
  for (int r = 0; r < world; ++r) {
    all.difference += shards[r].difference;
    all.reference += shards[r].reference;
    if (!(shards[r].relative() <= limit))
      wrong(*this, launch,
            "relative error " + std::to_string(shards[r].relative()) + " over rank " + std::to_string(r) +
                "'s shard, the bound is " + std::to_string(limit));
  }
  if (!(all.relative() <= limit))
    wrong(*this, launch,
          "relative error " + std::to_string(all.relative()) + ", the bound is " + std::to_string(limit));
  return all.relative();
}

}  // namespace mk::run
