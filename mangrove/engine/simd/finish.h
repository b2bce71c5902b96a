#pragma once

#include <limits>

namespace mangrove::simd {

/// What is computed on the results before they leave the cache: min(max(y + bias + residual, low), high).
struct Finish {
  const float* bias = nullptr;      // one each channel
  const float* residual = nullptr;  // as the result lies
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();

  bool does_nothing() const {
    return bias == nullptr && residual == nullptr && low == -std::numeric_limits<float>::infinity() &&
           high == std::numeric_limits<float>::infinity();
  }
};

}  // namespace mangrove::simd
