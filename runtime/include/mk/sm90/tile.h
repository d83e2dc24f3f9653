// Tiles in shared memory and views of tensors in global memory.
#pragma once
#include <cstdint>
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define MK_DEVICE __device__ __forceinline__
#define MK_ROLE static __device__ __forceinline__
#define MK_BOTH __host__ __device__ __forceinline__
#define MK_UNROLL _Pragma("unroll")

namespace mk {

using bf16 = __nv_bfloat16;
using fp16 = __half;
using fp32 = float;
inline constexpr const char* kTarget = "sm_90a";
inline constexpr int kDeviceKind = MK_DEVICE_CUDA;

// kSwizzled: rows of 128 bytes in the 128-byte swizzle that wgmma and TMA share. kLinear: row-major.
enum class Layout { kSwizzled, kLinear };

template <class T, int Rows, int Columns, Layout L = Layout::kSwizzled>
struct alignas(L == Layout::kSwizzled ? 1024 : 128) Tile {
  using Element = T;
  static constexpr int kRows = Rows, kColumns = Columns, kBytes = Rows * Columns * int(sizeof(T));
  static constexpr Layout kLayout = L;
  static_assert(L == Layout::kLinear || Columns * sizeof(T) == 128, "a swizzled row is 128 bytes");
  static_assert(Rows <= 256 && Columns <= 256, "a TMA box has at most 256 elements a side");
  uint8_t bytes[kBytes];
};

// Rows x Columns as tiles of 64 columns side by side: the way in for a matrix that is multiplied by its rows.
template <class T, int Rows, int Columns>
struct Panels {
  using Panel = Tile<T, Rows, 64>;
  static constexpr int kPanels = Columns / 64, kBytes = kPanels * Panel::kBytes;
  Panel panel[kPanels];
};

// Memory that holds one thing or another, in turn.
template <class One, class Other>
union Either {
  One one;
  Other other;
};

MK_DEVICE uint32_t shared_address(const void* p) { return uint32_t(__cvta_generic_to_shared(p)); }

// A driver function, found through the runtime so that no library has to be linked; null where there is none.
template <class Function>
Function* driver(const char* name) {
  void* f = nullptr;
  cudaDriverEntryPointQueryResult found;
  cudaGetDriverEntryPointByVersion(name, &f, 12000, cudaEnableDefault, &found);
  return reinterpret_cast<Function*>(f);
}

// Rows x columns in global memory, row-major. Loads outside give zero, stores outside are dropped.
struct Tensor { CUtensorMap map; };

template <class T> inline constexpr CUtensorMapDataType kMapType = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
template <> inline constexpr CUtensorMapDataType kMapType<fp16> = CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
template <> inline constexpr CUtensorMapDataType kMapType<fp32> = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;

// A view through which tiles of type TileT are moved, or the first `height` rows of them, which are then that many rows'
// bytes to a barrier. once: nothing is read twice, so that L2 fetches no more than a load asks for. p: 16-byte aligned;
// stride in elements, its bytes a multiple of 16.
// rows or columns of 0 make a view that must not be used. Needs a current device; false when the driver refuses.
template <class TileT, class T = typename TileT::Element>
bool make_view(Tensor& view, const void* p, int64_t rows, int64_t columns, int64_t stride, int height = TileT::kRows, bool once = false) {
  static const auto encode = driver<decltype(cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
  if (encode == nullptr) return false;
  if (rows <= 0 || columns <= 0) {
    view = Tensor{};
    return true;
  }
  const cuuint64_t size[2] = {cuuint64_t(columns), cuuint64_t(rows)}, pitch[1] = {cuuint64_t(stride) * sizeof(T)};
  const cuuint32_t box[2] = {TileT::kColumns, cuuint32_t(height)}, step[2] = {1, 1};
  const auto swizzle = TileT::kLayout == Layout::kSwizzled ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE;
  return encode(&view.map, kMapType<T>, 2, const_cast<void*>(p), size, pitch, box, step,
                CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                once ? CU_TENSOR_MAP_L2_PROMOTION_L2_128B : CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

}  // namespace mk
