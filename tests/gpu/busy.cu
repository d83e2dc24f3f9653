// Kernels that keep whole SMs for a while and end by themselves: each CTA has all shared memory of its SM.
#include <cstdint>

static __global__ void spin(uint64_t ns) {
  uint64_t start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  while (now - start < ns);
}

// Starts it on the stream, on the current device; a cudaError_t.
extern "C" int busy(int sms, double ms, void* stream) {
  constexpr int kShared = 227 * 1024;
  if (cudaError_t e = cudaFuncSetAttribute(spin, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared)) return e;
  spin<<<sms, 1, kShared, static_cast<cudaStream_t>(stream)>>>(uint64_t(ms * 1e6));
  return cudaGetLastError();
}
