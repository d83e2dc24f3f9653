/* The functions of libmkrt.so as found by dlsym, and calls through them: cgo cannot call a function pointer. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "mk/abi.h"

/* Everything but mk_open is called with a world of the library that made it. */
#define MKRT_FUNCTIONS(F)                                                                                            \
  F(runtime) F(open) F(blob) F(connect) F(view_of) F(check) F(abort) F(close) F(alloc) F(free) F(copy) F(stream_new) \
  F(stream_sync) F(stream_free) F(mark) F(elapsed)

typedef struct mkrt_api {
#define F(name) __typeof__(&mk_##name) name;
  MKRT_FUNCTIONS(F)
#undef F
} mkrt_api;

/* dlopen, with its message copied before another thread's call can replace it. */
static inline void* mkrt_dlopen(const char* path, char* err, size_t err_len) {
  void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) snprintf(err, err_len, "%s", dlerror());
  return handle;
}

static inline int mkrt_load(const char* path, mkrt_api* api, char* err, size_t err_len) {
  void* handle = mkrt_dlopen(path, err, err_len);
  if (handle == NULL) return 0;
#define F(name)                                                                         \
  *(void**)&api->name = dlsym(handle, "mk_" #name);                                     \
  if (api->name == NULL) {                                                              \
    snprintf(err, err_len, "%s does not export mk_" #name, path);                       \
    return 0;                                                                           \
  }
  MKRT_FUNCTIONS(F)
#undef F
  return 1;
}

static inline uint64_t mkrt_runtime(const mkrt_api* a) { return a->runtime(); }
static inline int mkrt_open(const mkrt_api* a, const mk_options* o, mk_world** w, char* err, size_t n) { return a->open(o, w, err, n); }
static inline int mkrt_blob(const mkrt_api* a, mk_world* w, const void** blob, size_t* len) { return a->blob(w, blob, len); }
static inline int mkrt_connect(const mkrt_api* a, mk_world* w, const void* blobs, size_t len, char* err, size_t n) { return a->connect(w, blobs, len, err, n); }
static inline int mkrt_view_of(const mkrt_api* a, mk_world* w, uint32_t kernel, mk_view* view, char* err, size_t n) { return a->view_of(w, kernel, view, err, n); }
static inline int mkrt_check(const mkrt_api* a, mk_world* w, char* err, size_t n) { return a->check(w, err, n); }
static inline int mkrt_abort(const mkrt_api* a, mk_world* w, const char* reason) { return a->abort(w, reason); }
static inline void mkrt_close(const mkrt_api* a, mk_world* w) { a->close(w); }

/* Device addresses travel as integers, so that no Go pointer rule applies to them. */
static inline int mkrt_alloc(const mkrt_api* a, mk_world* w, uint64_t bytes, uintptr_t* ptr, char* err, size_t n) { return a->alloc(w, bytes, (void**)ptr, err, n); }
static inline int mkrt_free(const mkrt_api* a, mk_world* w, uintptr_t ptr, char* err, size_t n) { return a->free(w, (void*)ptr, err, n); }
static inline int mkrt_copy_in(const mkrt_api* a, mk_world* w, uintptr_t dst, const void* src, uint64_t bytes, char* err, size_t n) { return a->copy(w, (void*)dst, src, bytes, err, n); }
static inline int mkrt_copy_out(const mkrt_api* a, mk_world* w, void* dst, uintptr_t src, uint64_t bytes, char* err, size_t n) { return a->copy(w, dst, (const void*)src, bytes, err, n); }
static inline int mkrt_stream_new(const mkrt_api* a, mk_world* w, uintptr_t* s, char* err, size_t n) { return a->stream_new(w, (void**)s, err, n); }
static inline int mkrt_stream_sync(const mkrt_api* a, mk_world* w, uintptr_t s, char* err, size_t n) { return a->stream_sync(w, (void*)s, err, n); }
static inline void mkrt_stream_free(const mkrt_api* a, mk_world* w, uintptr_t s) { a->stream_free(w, (void*)s); }
static inline int mkrt_mark(const mkrt_api* a, mk_world* w, uintptr_t s, uintptr_t* mark, char* err, size_t n) { return a->mark(w, (void*)s, (void**)mark, err, n); }
static inline int mkrt_elapsed(const mkrt_api* a, mk_world* w, uintptr_t from, uintptr_t to, double* ms, char* err, size_t n) { return a->elapsed(w, (void*)from, (void*)to, ms, err, n); }
