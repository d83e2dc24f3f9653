// From a Grid to a kernel: CTAs by block index, roles by warp, and the cooperative launch.
#pragma once

namespace mk {

template <int Registers, int Entry>
MK_DEVICE void set_registers() {
  if constexpr (Registers > Entry) asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
  else if constexpr (Registers > 0) asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
}

template <class Globals, class Shared>
MK_DEVICE void run_lanes(const Globals&, Shared&, Where, int) {}

template <class Globals, class Shared, class Lane, class... Rest>
MK_DEVICE void run_lanes(const Globals& globals, Shared& shared, Where at, int warp) {
  if (warp < Lane::kUnits) {
    if (Lane::kWhole || threadIdx.x % 32 == 0) Lane::Program::run(globals, shared, Where{at.cta, at.ctas, warp});
  } else {
    run_lanes<Globals, Shared, Rest...>(globals, shared, at, warp - Lane::kUnits);
  }
}

template <int First, int Registers, class... OneLanes, class Globals, class Shared>
MK_DEVICE void run_role(Lanes<First, Registers, OneLanes...>, const Globals& globals, Shared& shared, Where at, int warp) {
  run_lanes<Globals, Shared, OneLanes...>(globals, shared, at, warp);
}

template <class Role, int First, int Count, int Registers, class Globals, class Shared>
MK_DEVICE void run_role(Warpgroups<Role, First, Count, Registers>, const Globals& globals, Shared& shared, Where at, int warp) {
  Role::run(globals, shared, Where{at.cta, at.ctas, warp / 4});
}

template <int Entry, class Globals, class Shared>
MK_DEVICE void run_roles(const Globals&, Shared&, Where) {}

template <int Entry, class Globals, class Shared, class Role, class... Rest>
MK_DEVICE void run_roles(const Globals& globals, Shared& shared, Where at) {
  const int warp = int(threadIdx.x) / 32 - Role::kFirstWarp;
  if (warp >= 0 && warp < Role::kWarps) {
    set_registers<Role::kRegisters, Entry>();
    run_role(Role{}, globals, shared, at, warp);
  } else {
    run_roles<Entry, Globals, Shared, Rest...>(globals, shared, at);
  }
}

template <int Entry, class Globals, class Shared, int Count, class... Roles>
MK_DEVICE void run_cta(Ctas<Shared, Count, Roles...>, const Globals& globals, uint8_t* memory, int cta) {
  Shared& shared = *reinterpret_cast<Shared*>(memory);
  if (threadIdx.x == 0) {
    shared.init();
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    fence_async_shared();
  }
  __syncthreads();
  run_roles<Entry, Globals, Shared, Roles...>(globals, shared, Where{cta, Count, 0});
}

template <int Entry, class Globals>
MK_DEVICE void run_kinds(const Globals&, uint8_t*, int) {}

template <int Entry, class Globals, class Kind, class... Rest>
MK_DEVICE void run_kinds(const Globals& globals, uint8_t* memory, int block) {
  if (block < Kind::kCount) run_cta<Entry>(Kind{}, globals, memory, block);
  else run_kinds<Entry, Globals, Rest...>(globals, memory, block - Kind::kCount);
}

template <int Threads, int Entry, class... Kinds, class Globals>
MK_DEVICE void run(Grid<Threads, Entry, Kinds...>, const Globals& globals) {
  extern __shared__ uint8_t raw[];
  uint8_t* memory = reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(raw) + 1023) & ~uintptr_t(1023));
  run_kinds<Entry, Globals, Kinds...>(globals, memory, blockIdx.x);
  __syncthreads();
  if (threadIdx.x == 0) leave_kernel(globals.world.own(), gridDim.x);
}

// Makes a device current on the calling thread for a scope. The thread may have been on another one or, as threads of a Go
// program often are, on none: then it is on none again afterwards.
class OnDevice {
 public:
  explicit OnDevice(int device) : device_(device) {
    static const auto current = driver<decltype(cuCtxGetCurrent)>("cuCtxGetCurrent");
    if (current != nullptr) current(&before_);
    status_ = cudaSetDevice(device);
  }
  ~OnDevice() {
    static const auto set_current = driver<decltype(cuCtxSetCurrent)>("cuCtxSetCurrent");
    if (set_current != nullptr) set_current(before_);
  }
  OnDevice(const OnDevice&) = delete;
  int check(const Error& error) const {
    return status_ == cudaSuccess ? MK_OK : error.fail(MK_EUNAVAILABLE, "device %d: %s", device_, cudaGetErrorString(status_));
  }

 private:
  int device_;
  CUcontext before_ = nullptr;
  cudaError_t status_;
};

// Once per device, current, before the first launch.
template <class GridT, class Globals>
int prepare(void (*entry)(Globals), int device, const Error& error) {
  int sms = 0, major = 0;
  cudaError_t e = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
  if (e == cudaSuccess) e = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  if (e == cudaSuccess && major != 9)
    return error.fail(MK_EUNAVAILABLE, "device %d has compute capability %d.x, the kernel needs 9.0 (sm_90a)", device, major);
  if (e == cudaSuccess && sms < GridT::kCtas)
    return error.fail(MK_EUNAVAILABLE, "device %d has %d SMs, the kernel's roles need %d; set [roles] compute to a number that fits",
                      device, sms, GridT::kCtas);
  if (e == cudaSuccess) e = cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize, GridT::kShared + 1024);
  if (e != cudaSuccess) return error.fail(MK_EUNAVAILABLE, "device %d: %s", device, cudaGetErrorString(e));
  return MK_OK;
}

// On the current device. Cooperative: all CTAs run at once or the launch is refused (protocol rule 5).
template <class GridT, class Globals>
int launch(void (*entry)(Globals), int device, const Globals& globals, void* stream, const Error& error) {
  void* arguments[] = {const_cast<Globals*>(&globals)};
  const cudaError_t e = cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(entry), dim3(GridT::kCtas), dim3(GridT::kThreads),
                                                    arguments, GridT::kShared + 1024, static_cast<cudaStream_t>(stream));
  if (e != cudaSuccess) return error.fail(MK_ESYSTEM, "launch on device %d: %s", device, cudaGetErrorString(e));
  return MK_OK;
}

}  // namespace mk

// Defines the kernel `name`.
#define MK_KERNEL(name, GridT, Globals)                                                                  \
  extern "C" __global__ void __launch_bounds__(GridT::kThreads, 1) name(const __grid_constant__ Globals globals) { \
    mk::run(GridT{}, globals);                                                                           \
  }
