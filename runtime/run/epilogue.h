// What a kernel does to the product before it rounds it to C, in double.
#pragma once
#include <cmath>
#include <cstdint>
#include <string_view>

namespace mk::run {

struct Epilogue {
  bool bias, gated, residual;
  std::string_view activation;  // "none", "gelu", "silu"

  int fold() const { return gated ? 2 : 1; }  // columns of the product that make one of C

  double activate(double x) const {
    if (activation == "gelu") return x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
    if (activation == "silu") return x / (1 + std::exp(-x));
    return x;
  }

  // Column j of C, but for the residual, from the columns of the product, bias included, that `product` computes.
  template <class Product>
  double apply(int64_t j, const Product& product) const {
    return gated ? activate(product(2 * j)) * product(2 * j + 1) : activate(product(j));
  }
};

}  // namespace mk::run
