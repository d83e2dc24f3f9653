#include "problem.h"

#include <cmath>
#include <numeric>
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

enum class Matrix : uint64_t { kA = 1, kB = 2, kSample = 3, kRows = 4, kBias = 5, kDepths = 6, kResidual = 7 };

uint64_t key(uint64_t seed, int launch, Matrix which, uint64_t owner, int64_t row) {
  return mix(mix(mix(mix(seed) + uint64_t(launch)) + uint64_t(which) * 1000 + owner) + uint64_t(row));
}

void widen(Type type, const uint16_t* from, int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = value(type, from + i);
}

// Most of the work, on copies that no other thread sees: sanitizers, under which it would take ten times as long, need not look.
[[gnu::no_sanitize("thread", "address", "undefined")]] double dot(const float* a, const float* b, int64_t k) {
  double sum[8] = {};
  for (int64_t i = 0; i < k; i += 8)
    for (int j = 0; j < 8; ++j) sum[j] += double(a[i + j]) * double(b[i + j]);
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

int64_t length(const std::vector<Problem::Part>& of) {
  int64_t k = 0;
  for (const auto& part : of) k += part.k;
  return k;
}

void scan(const Problem& p, const std::vector<uint16_t>& c, int launch) {
  const int64_t columns = p.c_columns(), size = p.c_rows() * columns;
  int64_t bad = 0, first = 0;
  for (int64_t i = size - 1; i >= 0; --i)
    if (!std::isfinite(value(p.out, &c[i * words(p.out)]))) ++bad, first = i;
  if (bad)
    wrong(p, launch,
          std::to_string(bad) + " elements of C are not finite or were never written, the first in row " +
              std::to_string(first / columns) + ", column " + std::to_string(first % columns) + ", of rank " +
              std::to_string(!p.all_rows ? p.rank : owner(p.rows(launch), first / columns)) + "'s shard");
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

std::vector<int64_t> Problem::depths(int launch) const {
  std::vector<int64_t> out(world, k);
  if (!any_k) return out;
  for (int r = 0; r < world; ++r) {
    const uint64_t draw = key(seed, launch, Matrix::kDepths, 0, r);
    out[r] = draw % 3 == 0 ? 0 : int64_t((draw >> 8) % uint64_t(k / 8 + 1)) * 8;
  }
  return out;
}

std::vector<Problem::Part> Problem::parts(int launch) const {
  if (!reduces) return {{0, rank, k}};
  std::vector<Part> all;
  const std::vector<int64_t> of = depths(launch);
  for (int r = 0; r < world; ++r) all.push_back({r, r, of[r]});
  return all;
}

// A row of the whole A, as far as these parts go.
void Problem::fill_a(uint16_t* out, int launch, const std::vector<Part>& of, int64_t row) const {
  for (const Part& part : of) {
    fill_row(in, out, part.k, key(seed, launch, Matrix::kA, uint64_t(part.a), row), 1.0f);
    out += part.k;
  }
}

std::vector<uint16_t> Problem::a(int launch) const {
  const std::vector<Part> own = reduces ? std::vector{parts(launch)[rank]} : parts(launch);
  const std::vector<int64_t> all = rows(launch);
  const int64_t begin = reduces ? 0 : std::accumulate(all.begin(), all.begin() + rank, int64_t(0)), count = reduces ? m : all[rank], depth = own[0].k;
  std::vector<uint16_t> part(count * depth);
  for (int64_t i = 0; i < count; ++i) fill_a(part.data() + i * depth, launch, own, begin + i);
  return part;
}

std::vector<uint16_t> Problem::b(int launch) const {
  const std::vector<Part> own = reduces ? std::vector{parts(launch)[rank]} : parts(launch);
  std::vector<uint16_t> rows = weights(launch, own);
  if (!b_by_rows) return rows;
  const int64_t depth = own[0].k;
  std::vector<uint16_t> turned(rows.size());
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < depth; ++i) turned[i * n + j] = rows[j * depth + i];
  return turned;
}

std::vector<uint16_t> Problem::weights(int launch, const std::vector<Part>& of) const {
  std::vector<uint16_t> rows(n * length(of));
  uint16_t* out = rows.data();
  for (int64_t j = 0; j < n; ++j)
    for (const Part& part : of) {
      fill_row(in, out, part.k, key(seed, launch, Matrix::kB, uint64_t(part.b), j), 1.0f / 16);
      out += part.k;
    }
  return rows;
}

std::vector<uint16_t> Problem::bias(int launch) const {
  std::vector<uint16_t> vector(n);
  fill_row(in, vector.data(), n, key(seed, launch, Matrix::kBias, uint64_t(reduces && all_rows ? 0 : rank), 0), 1.0f);
  return vector;
}

int64_t Problem::first_row(int launch) const {
  const std::vector<int64_t> owned = rows(launch);
  return all_rows ? 0 : std::accumulate(owned.begin(), owned.begin() + rank, int64_t(0));
}

void Problem::fill_residual(uint16_t* to, int launch, int64_t row) const {
  std::vector<uint16_t> narrowed(c_columns());
  fill_row(in, narrowed.data(), c_columns(), key(seed, launch, Matrix::kResidual, 0, row), 1.0f);
  for (int64_t j = 0; j < c_columns(); ++j) {
    const float f = value(in, &narrowed[j]);
    if (out == Type::kFp32) std::memcpy(to + 2 * j, &f, sizeof f);
    else to[j] = narrow(out, f);
  }
}

std::vector<uint16_t> Problem::residual(int launch) const {
  if (!epilogue.residual) return {};
  std::vector<uint16_t> matrix(c_words() - kGuard);
  for (int64_t i = 0; i < c_rows(); ++i) fill_residual(matrix.data() + i * c_columns() * words(out), launch, first_row(launch) + i);
  return matrix;
}

std::vector<uint16_t> Problem::poisoned_c() const {
  std::vector<uint16_t> c(c_words(), kPoison);
  std::fill(c.end() - kGuard, c.end(), kGuardBits);
  return c;
}

double Problem::check(const std::vector<uint16_t>& c, int launch) const {
  scan(*this, c, launch);
  const int64_t columns = c_columns();
  const std::vector<Part> of = parts(launch);
  const int64_t depth = length(of);
  const std::vector<uint16_t> across = weights(launch, of), added = bias(launch);
  const bool full = c_rows() * n * depth <= kFull;
  const double limit = std::max(bound(out), bound(partial));
  std::vector<uint16_t> narrow_line(depth);
  std::vector<float> line(depth), wide(full ? across.size() : depth);  // a row of A; all columns of B, or one
  if (full) widen(in, across.data(), int64_t(across.size()), wide.data());
  const auto product = [&](int64_t j) {
    if (!full) widen(in, across.data() + j * depth, depth, wide.data());
    return dot(line.data(), wide.data() + (full ? j * depth : 0), depth) + (epilogue.bias ? double(value(in, &added[j])) : 0.0);
  };
  std::vector<Norms> shards(world);
  const std::vector<int64_t> owned = rows(launch);
  const int64_t begin = first_row(launch), end = begin + c_rows();
  std::vector<uint16_t> last(epilogue.residual ? columns * words(out) : 0);
  // One row of A at a time: all its columns, or those of the blocks for which it was drawn.
  for (int64_t row = begin; row < end; ++row) {
    bool made = false;
    const int64_t top = row / kBlock * kBlock, height = std::min(kBlock, m - top);
    for (int64_t left = 0; left < columns; left += kBlock) {
      const int64_t width = std::min(kBlock, columns - left);
      const uint64_t draw = full ? 0 : key(seed, launch, Matrix::kSample, uint64_t(top), left);
      if (!full && top + int64_t(draw % uint64_t(height)) != row) continue;
      if (!made) {
        fill_a(narrow_line.data(), launch, of, row);
        widen(in, narrow_line.data(), depth, line.data());
      }
      if (!made && epilogue.residual) fill_residual(last.data(), launch, row);
      made = true;
      const int64_t drawn = left + int64_t((draw >> 32) % uint64_t(width));
      for (int64_t col = full ? left : drawn; col < (full ? left + width : drawn + 1); ++col)
        shards[owner(owned, row)].add(value(out, &c[((row - begin) * columns + col) * words(out)]),
                                      epilogue.apply(col, product) + (epilogue.residual ? double(value(out, &last[col * words(out)])) : 0.0));
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
