#pragma once

#include <cstdint>

#include "mangrove/engine/portable/matrix.h"

namespace mangrove::simd {

/// y[m, n] += alpha a[m, k] b[k, n], on at most `threads` threads. The rows of y are y_stride apart. The result is
/// the same for any number of threads.
void multiply_add(int threads, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
                  const portable::Matrix<float>& a, const portable::Matrix<float>& b, float* y, std::int64_t y_stride);

}  // namespace mangrove::simd
