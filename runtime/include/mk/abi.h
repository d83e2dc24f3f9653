/* C ABI of libmkrt: a world of ranks, their symmetric heap, and the few device calls a launcher needs.
 *
 * Plain C. Every function returns MK_OK or an mk_status and, on failure, writes one sentence (what, where, what to do)
 * into err (NUL-terminated, truncated to err_len; err may be NULL). No function aborts the process or prints.
 * A world is used by one thread at a time, except mk_abort, which any thread may call.
 *
 * Order of calls on each rank:  mk_open -> mk_blob -> (caller exchanges blobs) -> mk_connect -> mk_view_of -> launches
 * -> mk_check after each synchronisation -> mk_close. */
#ifndef MK_ABI_H
#define MK_ABI_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

enum { MK_MAX_WORLD = 64, MK_MAX_LANES = 4, MK_NAME_LEN = 64 };

typedef enum mk_status {
  MK_OK = 0,
  MK_EINVAL = 1,       /* an argument is wrong; nothing was changed */
  MK_EMISMATCH = 2,    /* ranks, plans or libraries do not fit together; the sentence names both */
  MK_EUNAVAILABLE = 3, /* no CUDA driver, no such device, no peer access */
  MK_ENOMEM = 4,
  MK_ESYSTEM = 5,      /* an operating-system or driver call failed */
  MK_EABORTED = 6      /* a kernel gave up: a deadline passed or a peer aborted; the world must be closed */
} mk_status;

typedef enum mk_device_kind { MK_DEVICE_HOST = 0, MK_DEVICE_CUDA = 1 } mk_device_kind;

/* Transport between nodes: INTERNODE_BACKEND_* of the spec. */
typedef enum mk_backend {
  MK_BACKEND_NONE = 0, /* one node */
  MK_BACKEND_SHM = 1,
  MK_BACKEND_TCP = 2,
  MK_BACKEND_IBVERBS = 3,
  MK_BACKEND_EFA = 4
} mk_backend;

/* What one generated kernel needs of the world; from its generated header. */
typedef struct mk_kernel_need {
  char name[MK_NAME_LEN];
  uint64_t abi;        /* hash of plan and runtime; must be equal on all ranks */
  uint64_t heap_bytes; /* this kernel's part of each rank's symmetric heap, a multiple of 256 */
  int32_t nodes;       /* 1 or more, the same for all kernels of a world; rank r is on node r / (world / nodes) */
  int32_t backend;     /* mk_backend, the same for all kernels of a world */
  int32_t lanes;       /* of inter_send, each with a FIFO and a proxy thread, 0 to MK_MAX_LANES */
  uint32_t inbox_words;
} mk_kernel_need;

typedef struct mk_options {
  uint32_t size;               /* sizeof(mk_options) */
  int32_t rank, world;         /* 0 <= rank < world <= MK_MAX_WORLD, at most 8 ranks a node */
  int32_t device_kind, device; /* mk_device_kind; CUDA ordinal (several ranks may share one device), ignored on the host */
  uint64_t timeout_ms;         /* deadline of every wait on a peer; 0 means 30000 */
  const mk_kernel_need* kernels;
  uint32_t kernel_count;       /* 1 or more; the same list in the same order on all ranks */
} mk_options;

/* What a kernel library sees of a world. Filled by mk_view_of, valid until mk_close. */
typedef struct mk_view {
  uint32_t size; /* sizeof(mk_view) */
  int32_t rank, world, device_kind, device;
  int32_t nodes, lanes;
  uint64_t runtime;              /* mk_runtime() of the libmkrt that made it */
  uint64_t timeout_ns;
  uint64_t abi;                  /* of the kernel this view is for */
  uint64_t heap_bytes;           /* bytes of each region below */
  void* heap[MK_MAX_WORLD];      /* this kernel's region in the symmetric heap of every rank of this node, as addressed
                                    from this rank (device memory, zeroed before any peer could see it, 256-byte aligned);
                                    NULL for ranks of other nodes */
  uint64_t region;               /* offset of this kernel's region in the heap: mk::Command counts from its start */
  void* fifo[MK_MAX_LANES];      /* mk::Fifo of each lane, pinned host memory as the device addresses it; nodes > 1 */
  uint64_t* inbox;               /* this kernel's inbox words, as the device addresses them; nodes > 1 */
  uint32_t* health;              /* pinned host word, host address: 0 while well, 1 + reporting rank after an abort */
  uint32_t* health_device;       /* the same word as the device addresses it */
} mk_view;

typedef struct mk_world mk_world;

uint64_t mk_runtime(void); /* hash of the runtime sources this library was built from */

int mk_open(const mk_options* options, mk_world** world, char* err, size_t err_len);
/* This rank's blob: bytes to hand to every rank (the same length on all ranks, at most 8192). Owned by the world. */
int mk_blob(mk_world* world, const void** blob, size_t* len);
/* blobs: world x len bytes in rank order, this rank's own included. Maps the heaps of this node and connects to the
 * ranks of the same index on other nodes, so all ranks must call it. A rank that cannot (no peer access, no memory, a peer
 * that is gone) ends the world on all ranks at once, and each says why: here, or in mk_check where it was connected already. */
int mk_connect(mk_world* world, const void* blobs, size_t len, char* err, size_t err_len);
int mk_view_of(mk_world* world, uint32_t kernel, mk_view* view, char* err, size_t err_len);
/* MK_OK, or MK_EABORTED and what happened: rank, role, CTA, tile, chunk, peer, flag, expected, seen. Does not wait. */
int mk_check(mk_world* world, char* err, size_t err_len);
/* Ends every wait of this world on all ranks; reason is kept for mk_check. */
int mk_abort(mk_world* world, const char* reason);
/* Waits for the device to be idle, and for the peers on other nodes to close too, timeout_ms at most: a process with ranks of
 * several nodes closes each on a thread of its own. NULL is ignored. */
void mk_close(mk_world* world);

/* Device memory, copies and streams for launchers and tests that have no other source of them. Host target: malloc,
 * memcpy, and streams that are always drained. */
int mk_alloc(mk_world* world, uint64_t bytes, void** ptr, char* err, size_t err_len);   /* 256-byte aligned */
int mk_free(mk_world* world, void* ptr, char* err, size_t err_len);
int mk_copy(mk_world* world, void* dst, const void* src, uint64_t bytes, char* err, size_t err_len); /* any direction; returns when done */
int mk_stream_new(mk_world* world, void** stream, char* err, size_t err_len);
int mk_stream_sync(mk_world* world, void* stream, char* err, size_t err_len);          /* then mk_check */
void mk_stream_free(mk_world* world, void* stream);
int mk_mark(mk_world* world, void* stream, void** mark, char* err, size_t err_len);     /* a time stamp in stream order */
int mk_elapsed(mk_world* world, void* from, void* to, double* ms, char* err, size_t err_len); /* frees both marks */

#ifdef __cplusplus
}
#endif
#endif
