#pragma once

#include <cstdint>

#include "mangrove/engine/portable/matrix.h"

namespace mangrove::simd {

/// y[m, n] += alpha a[m, k] b[k, n], on `threads` threads. The same result for any number of them.
void multiply_add(int threads, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
                  const portable::Matrix<float>& a, const portable::Matrix<float>& b, float* y);

}  // namespace mangrove::simd
