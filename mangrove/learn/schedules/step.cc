#include <cmath>

#include "mangrove/learn/schedules/rules.h"

namespace mangrove::learn::rules {

double step(const SchedulePosition& position, const ScheduleOptions& options, const Plateau&) {
  const std::int64_t epoch = position.step / position.steps_per_epoch;
  return std::pow(options.gamma, static_cast<double>(epoch / options.step_epochs));
}

}  // namespace mangrove::learn::rules
