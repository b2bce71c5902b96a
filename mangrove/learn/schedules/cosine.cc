#include <cmath>
#include <numbers>

#include "mangrove/learn/schedules/rules.h"

namespace mangrove::learn::rules {

// source: Loshchilov & Hutter, SGDR: stochastic gradient descent with warm restarts, ICLR 2017 (one period)
double cosine(const SchedulePosition& position, const ScheduleOptions& options, const Plateau&) {
  if (position.step >= position.total) return 0;
  const auto length = static_cast<double>(position.total - options.warmup_steps);
  const double done = static_cast<double>(position.step - options.warmup_steps) / length;
  return 0.5 * (1 + std::cos(std::numbers::pi * done));
}

}  // namespace mangrove::learn::rules
