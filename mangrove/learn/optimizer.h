#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "mangrove/base/result.h"

namespace mangrove::learn {

struct SgdOptions {
  float learning_rate = 0.1f;
  float momentum = 0.9f;
  float weight_decay = 0;  // L2: added to the gradient as weight_decay * w
};

/// SGD with momentum on one array, elementwise, as PyTorch defines it:
///   v = momentum * v + (g + weight_decay * w);  w = w - learning_rate * v
/// All spans have the same length. Maps (w, g, v) = 0 to 0, so padding stays zero.
/// source: Sutskever et al., On the importance of initialization and momentum in deep learning, ICML 2013 (classical
/// form).
void sgd_step(std::span<float> w, std::span<const float> g, std::span<float> v, const SgdOptions& options);

enum class Schedule { constant, cosine };
/// errors: not_found, with the nearest known name.
Result<Schedule> parse_schedule(const std::string& name);

/// Learning rate of step `step` of `total`: linear warm-up from base/warmup_steps over the first steps, then constant,
/// or half a cosine down to 0 at `total`. source: Loshchilov & Hutter, SGDR, ICLR 2017 (one period); Goyal et al. 2017
/// (warm-up).
float scheduled_rate(Schedule schedule, float base, std::int64_t step, std::int64_t total, std::int64_t warmup_steps);

}  // namespace mangrove::learn
