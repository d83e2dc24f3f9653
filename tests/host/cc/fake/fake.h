/* The header of a hand-written "kernel library" for tests of the runner: what mkgen generates, for a kernel that does
 * the gather naively through the heap. */
#ifndef FAKE_H
#define FAKE_H
#include <stddef.h>
#include <stdint.h>

#define FAKE_ABI 0xfa4e0000fa4eull
#define FAKE_WORLD 3
#define FAKE_NODES 1
#define FAKE_BACKEND 0
#define FAKE_LANES 0
#define FAKE_INBOX_WORDS 0
#define FAKE_PARTIAL ""
#define FAKE_N 264
#define FAKE_K 128
#define FAKE_ACTIVATION "none"
#define FAKE_GATED 0
#define FAKE_B "nk"
#define FAKE_DTYPE "bf16"
#define FAKE_OUT "bf16"
#define FAKE_ALL_ROWS 1
#define FAKE_ORDERED 1
#define FAKE_M_MAX 1500
#define FAKE_MAX_ROWS 0
#define FAKE_HEAP_BYTES (2048ull + 2ull * FAKE_M_MAX * FAKE_K * 2)

#ifdef __cplusplus
extern "C" {
#endif
struct mk_view;
typedef struct fake fake;
typedef struct fake_args {
  const void* a;
  const void* b;
  void* c;
  int64_t lda, ldb, ldc, m;
  const int64_t* rows;
  void* stream;
} fake_args;
uint64_t fake_abi(void);
const char* fake_target(void);
int fake_open(const struct mk_view* view, fake** kernel, char* err, size_t err_len);
int fake_launch(fake* kernel, const fake_args* args, char* err, size_t err_len);
void fake_close(fake* kernel);
#ifdef __cplusplus
}
#endif
#endif
