#pragma once

#include <cstdint>

#include "mangrove/engine/portable/products.h"

namespace mangrove::simd {

/// y[m, n] += alpha a[m, k] b[k, n], on at most `threads` threads. The rows of y are y_stride apart. The result is
/// the same for any number of threads.
void multiply_add(int threads, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
                  const portable::Matrix<float>& a, const portable::Matrix<float>& b, float* y, std::int64_t y_stride);

/// Returns multiply_add on at most `threads` threads, for the portable kernels that take a product.
portable::Product<float> product_on(int threads);

}  // namespace mangrove::simd
