#include "mangrove/learn/optimizer.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

#include "mangrove/base/check.h"
#include "mangrove/base/nearest.h"

namespace mangrove::learn {

void sgd_step(std::span<float> w, std::span<const float> g, std::span<float> v, const SgdOptions& options) {
  MG_CHECK(g.size() == w.size() && v.size() == w.size());
  const float rate = options.learning_rate, momentum = options.momentum, decay = options.weight_decay;
  float* __restrict weight = w.data();
  float* __restrict velocity = v.data();
  const float* __restrict gradient = g.data();
  const std::size_t n = w.size();
  for (std::size_t i = 0; i < n; ++i) {
    velocity[i] = momentum * velocity[i] + (gradient[i] + decay * weight[i]);
    weight[i] -= rate * velocity[i];
  }
}

Result<Schedule> parse_schedule(const std::string& name) {
  if (name == "constant") return Schedule::constant;
  if (name == "cosine") return Schedule::cosine;
  const std::string known[] = {"constant", "cosine"};
  return make_error(Code::not_found, "unknown schedule '" + name + "'" + suggestion(name, known));
}

float scheduled_rate(Schedule schedule, float base, std::int64_t step, std::int64_t total, std::int64_t warmup_steps) {
  if (step < warmup_steps) return base * static_cast<float>(step + 1) / static_cast<float>(warmup_steps);
  if (schedule == Schedule::constant) return base;
  if (step >= total) return 0;
  const double done = static_cast<double>(step - warmup_steps) / static_cast<double>(total - warmup_steps);
  return static_cast<float>(base * 0.5 * (1 + std::cos(std::numbers::pi * done)));
}

}  // namespace mangrove::learn
