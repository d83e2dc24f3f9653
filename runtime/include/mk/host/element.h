// The types of elements on the CPU. Rounding is to the nearest, ties to even; NaN stays NaN.
#pragma once
#include <cstdint>

namespace mk {

struct bf16 { uint16_t bits; };
struct fp16 { uint16_t bits; };
using fp32 = float;

// Inlined into functions that sanitizers do not look at, too, which what they call must be as well.
[[gnu::always_inline]] inline float to_float(fp32 f) { return f; }
[[gnu::always_inline]] inline float to_float(bf16 b) { return __builtin_bit_cast(float, uint32_t(b.bits) << 16); }
[[gnu::always_inline]] inline float to_float(fp16 h) {
  const uint32_t sign = uint32_t(h.bits & 0x8000) << 16, rest = uint32_t(h.bits & 0x7fff) << 13;
  if (rest >= 0x0f800000) return __builtin_bit_cast(float, sign | rest | 0x7f800000);  // infinity, NaN
  return __builtin_bit_cast(float, sign | __builtin_bit_cast(uint32_t, __builtin_bit_cast(float, rest) * 0x1p112f));  // the biases: 127 - 15
}

template <class T> T rounded(float f);
template <> [[gnu::always_inline]] inline fp32 rounded<fp32>(float f) { return f; }
template <> [[gnu::always_inline]] inline bf16 rounded<bf16>(float f) {
  const uint32_t u = __builtin_bit_cast(uint32_t, f);
  if ((u & 0x7fffffff) > 0x7f800000) return {uint16_t(u >> 16 | 0x40)};
  return {uint16_t((u + 0x7fff + (u >> 16 & 1)) >> 16)};
}
template <> [[gnu::always_inline]] inline fp16 rounded<fp16>(float f) {
  const uint32_t u = __builtin_bit_cast(uint32_t, f), sign = u >> 16 & 0x8000, size = u & 0x7fffffff;
  if (size > 0x7f800000) return {uint16_t(sign | 0x7e00)};
  if (size >= 0x477ff000) return {uint16_t(sign | 0x7c00)};  // 65520 and above: infinity
  if (size < 0x38800000)  // below 2^-14, in steps of 2^-24: those of a float from 1/2 to 1
    return {uint16_t(sign | (__builtin_bit_cast(uint32_t, __builtin_bit_cast(float, size) + 0.5f) - 0x3f000000))};
  return {uint16_t(sign | ((size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13))};
}

}  // namespace mk
