#pragma once

#include <limits>

namespace mangrove::simd {

/// What results are limited to.
struct Bounds {
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();

  bool operator==(const Bounds&) const = default;
};

/// What is computed on the results before they leave the cache: min(max(y + bias + residual, low), high).
struct Finish {
  const float* bias = nullptr;      // one each channel
  const float* residual = nullptr;  // as the result lies
  Bounds bounds = {};

  bool does_nothing() const { return bias == nullptr && residual == nullptr && bounds == Bounds{}; }
};

}  // namespace mangrove::simd
