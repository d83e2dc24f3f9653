// One kernel, by its generated header. Compile with
//   -DMK_KERNEL_HEADER='"demo.h"' -DMK_KERNEL_NAME=demo -DMK_KERNEL_MACROS=DEMO
#include "kernel.h"

#include MK_KERNEL_HEADER

#define MK_PASTE_(a, b) a##b
#define MK_PASTE(a, b) MK_PASTE_(a, b)
#define MK_TEXT_(a) #a
#define MK_TEXT(a) MK_TEXT_(a)
#define MK_OF(what) MK_PASTE(MK_KERNEL_MACROS, what)
#define MK_FUNCTION(what) MK_PASTE(MK_KERNEL_NAME, what)

namespace mk::run {
namespace {

using Handle = ::MK_KERNEL_NAME;
using Args = MK_FUNCTION(_args);

// Kernels with an option have a place for it among their arguments.
template <class A> constexpr bool kBias = requires(A args) { args.bias; };
template <class A> constexpr bool kResidual = requires(A args) { args.residual; };
template <class A> constexpr bool kRows = requires(A args) { args.rows; };
template <class A> constexpr bool kAnyK = requires(A args) { args.k; };

template <class A> A args_of(const Launch& l) {
  A args{};
  args.a = l.a;
  args.b = l.b;
  args.c = l.c;
  args.m = l.m;
  args.stream = l.stream;
  if constexpr (kBias<A>) args.bias = l.bias;
  if constexpr (kResidual<A>) args.residual = l.residual;
  if constexpr (kRows<A>) args.rows = l.rows;
  if constexpr (kAnyK<A>) args.k = l.k;
  return args;
}

int open(const mk_view* view, void** handle, char* err, size_t err_len) {
  Handle* opened = nullptr;
  const int status = MK_FUNCTION(_open)(view, &opened, err, err_len);
  *handle = opened;
  return status;
}

int launch(void* handle, const Launch& l, char* err, size_t err_len) {
  const Args args = args_of<Args>(l);
  return MK_FUNCTION(_launch)(static_cast<Handle*>(handle), &args, err, err_len);
}

void close(void* handle) { MK_FUNCTION(_close)(static_cast<Handle*>(handle)); }

}  // namespace

const Kernel kernel = {
    .name = MK_TEXT(MK_KERNEL_NAME),
    .heap_bytes = MK_OF(_HEAP_BYTES),
    .world = MK_OF(_WORLD),
    .nodes = MK_OF(_NODES),
    .backend = MK_OF(_BACKEND),
    .lanes = MK_OF(_LANES),
    .inbox_words = MK_OF(_INBOX_WORDS),
    .n = MK_OF(_N),
    .k = MK_OF(_K),
    .max_m = MK_OF(_M_MAX),
    .max_rows = MK_OF(_MAX_ROWS),
    .type = MK_OF(_DTYPE),
    .out = MK_OF(_OUT),
    .partial = MK_OF(_WORLD) > 1 && *MK_OF(_PARTIAL) ? MK_OF(_PARTIAL) : MK_OF(_OUT),
    .b = MK_OF(_B),
    .activation = MK_OF(_ACTIVATION),
    .reduces = *MK_OF(_PARTIAL) != 0,
    .ordered = MK_OF(_ORDERED) != 0,
    .all_rows = MK_OF(_ALL_ROWS) != 0,
    .any_k = kAnyK<Args>,
    .bias = kBias<Args>,
    .gated = MK_OF(_GATED) != 0,
    .residual = kResidual<Args>,
    .target = MK_FUNCTION(_target),
    .abi = MK_FUNCTION(_abi),
    .open = open,
    .launch = launch,
    .close = close,
};

}  // namespace mk::run
