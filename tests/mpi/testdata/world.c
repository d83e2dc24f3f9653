/* AllGather+GEMM from an MPI program in C: mk/abi.h opens the world, MPI exchanges the blobs, and the header that mkgen
 * wrote launches the kernel. Every rank checks every element of its C against a reference in double.
 *
 *   mkgen --spec ag.toml && mkgen build --spec ag.toml -o lib          # name = "ag", dynamic m, bf16, B as [N, K]
 *   mpicc world.c -Iag -I<mkgen>/runtime/include lib/libag.host.so lib/libmkrt.so -lm -o world
 *   mpirun -n <ranks> --bind-to none world
 *
 * With several nodes: mpirun --map-by ppr:<gpus_per_node>:node, so that rank r is on node r / gpus_per_node.
 * "world swapped" hands mk_connect the blobs of ranks 0 and 1 in the wrong order, which it must refuse. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ag.h"
#include "mk/abi.h"

static int rank;
static char err[1024];

/* One rank that fails must not leave the others waiting: all stop together. It is also a barrier, which mk_connect needs
 * after it, so that nobody closes a heap that another has yet to map. */
static void agree(int status, const char* what) {
  int worst;
  if (status != MK_OK) fprintf(stderr, "rank %d: %s: status %d: %s\n", rank, what, status, err);
  MPI_Allreduce(&status, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (worst == MK_OK) return;
  MPI_Finalize();
  exit(1);
}

static void open_world(mk_world** world, ag** kernel, int swapped) {
  mk_kernel_need need = {.name = "ag", .abi = AG_ABI, .heap_bytes = AG_HEAP_BYTES, .nodes = AG_NODES,
                         .backend = AG_BACKEND, .lanes = AG_LANES, .inbox_words = AG_INBOX_WORDS};
  mk_options options = {.size = sizeof options, .rank = rank, .world = AG_WORLD, .device_kind = MK_DEVICE_HOST,
                        .timeout_ms = 600000, .kernels = &need, .kernel_count = 1};
  agree(mk_open(&options, world, err, sizeof err), "mk_open");

  const void* blob;
  size_t len;
  agree(mk_blob(*world, &blob, &len), "mk_blob");
  char* blobs = malloc(AG_WORLD * len);
  MPI_Allgather(blob, (int)len, MPI_BYTE, blobs, (int)len, MPI_BYTE, MPI_COMM_WORLD);
  for (size_t i = 0; swapped && i < len; ++i) {
    char first = blobs[i];
    blobs[i] = blobs[len + i];
    blobs[len + i] = first;
  }
  agree(mk_connect(*world, blobs, len, err, sizeof err), "mk_connect");
  free(blobs);

  static mk_view view; /* the kernel keeps its address */
  agree(mk_view_of(*world, 0, &view, err, sizeof err), "mk_view_of");
  agree(ag_open(&view, kernel, err, sizeof err), "ag_open");
}

/* Element i of a matrix that all ranks can make: of `owner`, in one launch. bf16 holds these values exactly. */
static double element(int launch, int owner, int matrix, int64_t i) {
  uint64_t x = (uint64_t)i * 0x9e3779b97f4a7c15u + (uint64_t)(launch * 128 + owner * 2 + matrix) * 0xd1b54a32d192ed03u;
  x = (x ^ x >> 31) * 0xbf58476d1ce4e5b9u;
  return (double)((int)(x >> 40 & 255) - 128) / 64;
}

static uint16_t to_bf16(double v) {
  float f = (float)v;
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return (uint16_t)(bits >> 16);
}

static double from_bf16(uint16_t v) {
  uint32_t bits = (uint32_t)v << 16;
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

static int64_t rows_of(int64_t m, int r) { return m / AG_WORLD + (r < m % AG_WORLD); }

/* Device memory with these elements; all bits set, NaNs, where `matrix` is negative. */
static void* put(mk_world* world, int launch, int matrix, int64_t count) {
  uint16_t* host = malloc((size_t)count * 2 + 1);
  void* device = NULL;
  for (int64_t i = 0; i < count; ++i) host[i] = matrix < 0 ? 0xffff : to_bf16(element(launch, rank, matrix, i));
  int status = mk_alloc(world, (uint64_t)count * 2 + 256, &device, err, sizeof err);
  if (status == MK_OK) status = mk_copy(world, device, host, (uint64_t)count * 2, err, sizeof err);
  agree(status, "operands");
  free(host);
  return device;
}

static int wrong(const uint16_t* c, int64_t m, int launch) {
  double difference = 0, size = 0;
  int64_t row = 0;
  for (int owner = 0; owner < AG_WORLD; ++owner)
    for (int64_t i = 0; i < rows_of(m, owner); ++i, ++row)
      for (int64_t j = 0; j < AG_N; ++j) {
        double sum = 0, got = from_bf16(c[row * AG_N + j]);
        for (int64_t k = 0; k < AG_K; ++k)
          sum += element(launch, owner, 0, i * AG_K + k) * element(launch, rank, 1, j * AG_K + k);
        difference += (got - sum) * (got - sum);
        size += sum * sum;
      }
  if (m == 0 || sqrt(difference / size) <= 4e-3) return 0; /* false for NaN */
  snprintf(err, sizeof err, "launch %d with m = %ld: C is off by %g of its norm", launch, (long)m, sqrt(difference / size));
  return 1;
}

/* Launches that queue up one behind the other; then all results. */
enum { kLaunches = 5 };
static void launches(mk_world* world, ag* kernel, int first) {
  const int64_t sizes[kLaunches] = {AG_M_MAX, 3, 0, AG_M_MAX - 1, AG_M_MAX / 3};
  ag_args args[kLaunches];
  void* stream;
  agree(mk_stream_new(world, &stream, err, sizeof err), "mk_stream_new");
  for (int l = 0; l < kLaunches; ++l) {
    args[l] = (ag_args){.m = sizes[l], .stream = stream};
    args[l].a = put(world, first + l, 0, rows_of(sizes[l], rank) * AG_K);
    args[l].b = put(world, first + l, 1, (int64_t)AG_N * AG_K);
    args[l].c = put(world, first + l, -1, sizes[l] * AG_N);
  }
  int status = MK_OK;
  for (int l = 0; l < kLaunches && status == MK_OK; ++l) status = ag_launch(kernel, &args[l], err, sizeof err);
  agree(status, "ag_launch");
  agree(mk_stream_sync(world, stream, err, sizeof err), "mk_stream_sync");
  agree(mk_check(world, err, sizeof err), "mk_check");
  mk_stream_free(world, stream);
  for (int l = 0; l < kLaunches; ++l) {
    uint16_t* c = malloc((size_t)(sizes[l] * AG_N * 2 + 1));
    agree(mk_copy(world, c, args[l].c, (uint64_t)(sizes[l] * AG_N * 2), err, sizeof err), "mk_copy");
    agree(wrong(c, sizes[l], first + l), "the result");
    free(c);
    mk_free(world, (void*)args[l].a, NULL, 0);
    mk_free(world, (void*)args[l].b, NULL, 0);
    mk_free(world, args[l].c, NULL, 0);
  }
}

int main(int argc, char** argv) {
  int size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  snprintf(err, sizeof err, "started with %d ranks, ag was generated for %d", size, AG_WORLD);
  agree(size == AG_WORLD ? MK_OK : MK_EMISMATCH, "world");
  for (int n = 0; n < 2; ++n) { /* a world can be followed by another */
    mk_world* world = NULL;
    ag* kernel = NULL;
    open_world(&world, &kernel, argc > 1 && strcmp(argv[1], "swapped") == 0);
    launches(world, kernel, n * kLaunches);
    ag_close(kernel);
    mk_close(world);
  }
  if (rank == 0) printf("right: 2 worlds of %d ranks on %d node(s), %d launches each\n", AG_WORLD, AG_NODES, kLaunches);
  MPI_Finalize();
  return 0;
}
