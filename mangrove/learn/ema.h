#pragma once

#include <cstdint>
#include <span>

namespace mangrove::learn {

/// Exponential moving average of weights, elementwise: average = d average + (1 - d) weights, where d grows from 2/11
/// to `decay` with the steps, d = min(decay, (1 + step) / (10 + step)), so that the initial weights are soon forgotten.
/// step: counts from 1. Both spans have the same length.
/// source: Polyak & Juditsky, Acceleration of stochastic approximation by averaging, 1992; the growing d is
/// TensorFlow's ExponentialMovingAverage.
void ema_update(std::span<float> average, std::span<const float> weights, float decay, std::int64_t step);

}  // namespace mangrove::learn
