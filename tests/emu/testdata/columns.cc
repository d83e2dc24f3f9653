// GEMM+ReduceScatter with its operands swapped: the weights W [columns, K] as A, the activations X [rows, K] as B. C is then the
// transpose of X * W^T, summed over the ranks, of which every rank keeps some columns. Prints "right" for each rank.
#include <cstdio>

#include "element.h"
#include "kernel.cc"
#include "options.h"
#include "ranks.h"
#include "session.h"

using namespace mk::run;

namespace {

// Whole numbers that bf16 holds exactly, sums included.
int x_at(int rank, int64_t row, int64_t k) { return int((row * 7 + k * 3 + rank) % 5) - 2; }
int w_at(int rank, int64_t column, int64_t k) { return int((column * 5 + k * 2 + rank * 3) % 3) - 1; }

template <class At>
std::vector<uint16_t> matrix(int64_t rows, int64_t columns, const At& at) {
  std::vector<uint16_t> values;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) values.push_back(mk::rounded<mk::bf16>(float(at(i, j))).bits);
  return values;
}

bool scatter_columns(Meeting& meeting, const Options& options, int rank) {
  const int64_t rows = kernel.n, columns = kernel.max_m, depth = kernel.k;
  const int64_t each = columns / kernel.world, more = columns % kernel.world;
  const int64_t first = rank * each + std::min<int64_t>(rank, more), own = each + (rank < more);
  Session session(kernel, meeting, options, rank);
  void* w = session.put(matrix(columns, depth, [&](int64_t j, int64_t k) { return w_at(rank, j, k); }));
  void* x = session.put(matrix(rows, depth, [&](int64_t i, int64_t k) { return x_at(rank, i, k); }));
  void* c = session.put(std::vector<uint16_t>(size_t(own * rows), 0x7fff));
  Launch launch{};
  launch.a = w;
  launch.b = x;
  launch.c = c;
  launch.m = columns;
  session.launch(launch);
  session.sync();
  const std::vector<uint16_t> want = matrix(own, rows, [&](int64_t j, int64_t i) {
    int sum = 0;
    for (int r = 0; r < kernel.world; ++r)
      for (int64_t k = 0; k < depth; ++k) sum += x_at(r, i, k) * w_at(r, first + j, k);
    return sum;
  });
  const bool right = session.get(c, want.size()) == want;
  meeting.meet();  // nobody frees beside a running kernel
  for (void* ptr : {w, x, c}) session.free(ptr);
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(kernel, argc, argv);
  bool right[MK_MAX_WORLD] = {};
  for (const std::string& error : errors(start(kernel.world, false, [&](Meeting& m, int rank) { right[rank] = scatter_columns(m, options, rank); })))
    std::printf("%s\n", error.c_str());
  for (int rank = 0; rank < kernel.world; ++rank) std::printf("rank %d: %s\n", rank, right[rank] ? "right" : "wrong");
}
