// Elements of A, B and C as the runner holds them: in words of 16 bits, of which an fp32 takes two.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "mk/host/element.h"

namespace mk::run {

enum class Type { kBf16, kFp16, kFp32 };

constexpr Type type_of(std::string_view name) {  // as the generated header says it
  return name == "fp32" ? Type::kFp32 : name == "fp16" ? Type::kFp16 : Type::kBf16;
}
constexpr int words(Type t) { return t == Type::kFp32 ? 2 : 1; }

template <Type T>
float value(const uint16_t* at) {
  if constexpr (T == Type::kFp32) {
    float f;
    std::memcpy(&f, at, sizeof f);
    return f;
  } else if constexpr (T == Type::kFp16) {
    return to_float(fp16{*at});
  } else {
    return to_float(bf16{*at});
  }
}
inline float value(Type t, const uint16_t* at) {
  return t == Type::kFp32 ? value<Type::kFp32>(at) : t == Type::kFp16 ? value<Type::kFp16>(at) : value<Type::kBf16>(at);
}

// The relative norm of the error that a right C stays below. Rounding alone gives about 1.6e-3 in bf16 and 2e-4 in fp16;
// so a C that was rounded to a narrower type on its way is wrong. fp32 has the sum's own error: K / 16 additions, each
// cut off at 2^-23 of a running sum that is 2/3 of the last one on average, so 2e-5 at K = 8192.
constexpr double bound(Type t) { return t == Type::kFp32 ? 1e-4 : t == Type::kFp16 ? 1e-3 : 1e-2; }

}  // namespace mk::run
