// The kernel this runner was compiled for, under one set of names. Compile with
//   -DMK_KERNEL_HEADER='"demo.h"' -DMK_KERNEL_NAME=demo -DMK_KERNEL_MACROS=DEMO
#pragma once
#include MK_KERNEL_HEADER

#include "mk/abi.h"

#define MK_PASTE_(a, b) a##b
#define MK_PASTE(a, b) MK_PASTE_(a, b)
#define MK_TEXT_(a) #a
#define MK_TEXT(a) MK_TEXT_(a)

namespace mk::run::kernel {

constexpr const char* kName = MK_TEXT(MK_KERNEL_NAME);
constexpr uint64_t kAbi = MK_PASTE(MK_KERNEL_MACROS, _ABI), kHeapBytes = MK_PASTE(MK_KERNEL_MACROS, _HEAP_BYTES);
constexpr int kWorld = MK_PASTE(MK_KERNEL_MACROS, _WORLD);
constexpr int64_t kN = MK_PASTE(MK_KERNEL_MACROS, _N), kK = MK_PASTE(MK_KERNEL_MACROS, _K);
constexpr const char *kType = MK_PASTE(MK_KERNEL_MACROS, _DTYPE), *kOut = MK_PASTE(MK_KERNEL_MACROS, _OUT);
constexpr const char* kB = MK_PASTE(MK_KERNEL_MACROS, _B);
constexpr const char* kActivation = MK_PASTE(MK_KERNEL_MACROS, _ACTIVATION);
constexpr bool kGated = MK_PASTE(MK_KERNEL_MACROS, _GATED);
constexpr int64_t kMaxM = MK_PASTE(MK_KERNEL_MACROS, _M_MAX);
constexpr int64_t kMaxRows = MK_PASTE(MK_KERNEL_MACROS, _MAX_ROWS);  // 0: M is split evenly

using Handle = ::MK_KERNEL_NAME;
using Args = MK_PASTE(MK_KERNEL_NAME, _args);
// The arguments of kernels that take a bias have a place for it.
template <class A> concept WithBias = requires(A args) { args.bias; };
constexpr bool kBias = WithBias<Args>;
template <class A> void set_bias(A& args, const void* bias) {
  if constexpr (WithBias<A>) args.bias = bias;
}

constexpr auto* target = &MK_PASTE(MK_KERNEL_NAME, _target);
constexpr auto* abi = &MK_PASTE(MK_KERNEL_NAME, _abi);
constexpr auto* open = &MK_PASTE(MK_KERNEL_NAME, _open);
constexpr auto* launch = &MK_PASTE(MK_KERNEL_NAME, _launch);
constexpr auto* close = &MK_PASTE(MK_KERNEL_NAME, _close);

}  // namespace mk::run::kernel
