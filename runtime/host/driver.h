// The part of the CUDA driver API that libmkrt uses, found in libcuda.so.1 at run time. Types and numbers as in cuda.h
// (CUDA 13.0), where they stand under the same names with a CU prefix.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace mk::rt::cuda {

using Result = int;  // 0 is success
using Gpu = int;     // CUdevice
using Ptr = unsigned long long;
using Handle = unsigned long long;  // CUmemGenericAllocationHandle
using Context = struct CUctx_st*;
using Stream = struct CUstream_st*;
using Event = struct CUevent_st*;

constexpr Result kOutOfMemory = 2, kNotReady = 600;
constexpr int kAttributeVmm = 102, kAttributePosixFd = 103;  // CU_DEVICE_ATTRIBUTE_*_SUPPORTED
constexpr int kAttributeVmmRdma = 110, kAttributeDmabuf = 124, kRangeDmabuf = 1;
constexpr int kLocationDevice = 1, kAllocationPinned = 1, kHandlePosixFd = 1, kGranularityMinimum = 0, kReadWrite = 3;
constexpr unsigned kStreamNonBlocking = 1, kHostPortable = 1, kHostMapped = 2;

struct Location {
  int type, id;
};
struct AllocationProp {
  int type, requested_handle_types;
  Location location;
  void* win32_handle_metadata;
  struct {
    unsigned char compression, rdma_capable;
    unsigned short usage;
    unsigned char reserved[4];
  } flags;
};
static_assert(sizeof(AllocationProp) == 32 && offsetof(AllocationProp, flags) == 24);
struct AccessDesc {
  Location location;
  int flags;
};
static_assert(sizeof(AccessDesc) == 12);
// Of the union CUstreamBatchMemOpParams, the part that writes a value: 32 or 64 bits.
struct MemOp {
  int operation;
  Ptr address;
  uint64_t value;
  unsigned flags;
  Ptr alias;
  uint64_t rest;
};
static_assert(sizeof(MemOp) == 48 && offsetof(MemOp, address) == 8 && offsetof(MemOp, flags) == 24);
constexpr int kWrite32 = 2, kWrite64 = 5;
constexpr uint32_t kMostMemOps = 256;  // of one batch
struct Uuid {
  char bytes[16];
};

#define MK_CUDA_FUNCTIONS(X)                                                 \
  X(cuInit, unsigned)                                                        \
  X(cuGetErrorString, Result, const char**)                                  \
  X(cuDeviceGet, Gpu*, int)                                                  \
  X(cuDeviceGetCount, int*)                                                  \
  X(cuDeviceGetName, char*, int, Gpu)                                        \
  X(cuDeviceGetPCIBusId, char*, int, Gpu)                                    \
  X(cuDeviceGetUuid, Uuid*, Gpu)                                             \
  X(cuDeviceGetAttribute, int*, int, Gpu)                                    \
  X(cuDeviceCanAccessPeer, int*, Gpu, Gpu)                                   \
  X(cuDevicePrimaryCtxRetain, Context*, Gpu)                                 \
  X(cuDevicePrimaryCtxRelease_v2, Gpu)                                       \
  X(cuCtxPushCurrent_v2, Context)                                            \
  X(cuCtxPopCurrent_v2, Context*)                                            \
  X(cuCtxSynchronize)                                                        \
  X(cuMemGetAllocationGranularity, size_t*, const AllocationProp*, int)      \
  X(cuMemCreate, Handle*, size_t, const AllocationProp*, unsigned long long) \
  X(cuMemRelease, Handle)                                                    \
  X(cuMemAddressReserve, Ptr*, size_t, size_t, Ptr, unsigned long long)      \
  X(cuMemAddressFree, Ptr, size_t)                                           \
  X(cuMemMap, Ptr, size_t, size_t, Handle, unsigned long long)               \
  X(cuMemUnmap, Ptr, size_t)                                                 \
  X(cuMemSetAccess, Ptr, size_t, const AccessDesc*, size_t)                  \
  X(cuMemExportToShareableHandle, void*, Handle, int, unsigned long long)    \
  X(cuMemImportFromShareableHandle, Handle*, void*, int)                     \
  X(cuMemGetHandleForAddressRange, void*, Ptr, size_t, int, unsigned long long) \
  X(cuMemAlloc_v2, Ptr*, size_t)                                             \
  X(cuMemFree_v2, Ptr)                                                       \
  X(cuMemHostAlloc, void**, size_t, unsigned)                                \
  X(cuMemFreeHost, void*)                                                    \
  X(cuMemHostGetDevicePointer_v2, Ptr*, void*, unsigned)                     \
  X(cuMemcpyAsync, Ptr, Ptr, size_t, Stream)                                 \
  X(cuMemsetD8Async, Ptr, unsigned char, size_t, Stream)                     \
  X(cuStreamCreate, Stream*, unsigned)                                       \
  X(cuStreamSynchronize, Stream)                                             \
  X(cuStreamQuery, Stream)                                                   \
  X(cuStreamWriteValue32_v2, Stream, Ptr, uint32_t, unsigned)                \
  X(cuStreamBatchMemOp_v2, Stream, unsigned, const MemOp*, unsigned)         \
  X(cuStreamDestroy_v2, Stream)                                              \
  X(cuEventCreate, Event*, unsigned)                                         \
  X(cuEventRecord, Event, Stream)                                            \
  X(cuEventSynchronize, Event)                                               \
  X(cuEventElapsedTime, float*, Event, Event)                                \
  X(cuEventDestroy_v2, Event)

struct Driver {
#define X(name, ...) Result (*name)(__VA_ARGS__);
  MK_CUDA_FUNCTIONS(X)
#undef X
};

// Loads and initialises the driver once; throws MK_EUNAVAILABLE where there is none.
const Driver& driver();

// Throws what, the driver's word for the error and its number, unless r is 0.
void must(Result r, const std::string& what);

}  // namespace mk::rt::cuda
