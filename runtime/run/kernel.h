// The kernel that a runner runs: what its header says, and its functions. kernel.cc is compiled for one kernel, all else for any.
#pragma once
#include <cstddef>
#include <cstdint>

#include "mk/abi.h"

namespace mk::run {

struct Launch {  // arguments; a kernel takes those that it has
  const void *a, *b, *bias, *residual;
  void* c;
  int64_t m, k;
  const int64_t* rows;
  void* stream;
};

struct Kernel {
  const char* name;
  uint64_t heap_bytes;
  int world, nodes, backend, lanes;
  uint32_t inbox_words;
  int64_t n, k, max_m, max_rows;  // max_rows: of one rank, where launches say; 0: M is split evenly
  const char *type, *out, *partial, *b, *activation;
  bool reduces, ordered, all_rows, any_k, bias, gated, residual;
  const char* (*target)();
  uint64_t (*abi)();
  int (*open)(const mk_view* view, void** handle, char* err, size_t err_len);
  int (*launch)(void* handle, const Launch& launch, char* err, size_t err_len);
  void (*close)(void* handle);
};

extern const Kernel kernel;

}  // namespace mk::run
