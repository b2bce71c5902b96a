#include <algorithm>
#include <cmath>

#include "mangrove/learn/schedules/rules.h"

namespace mangrove::learn::rules {

// source: He et al., Deep residual learning for image recognition, CVPR 2016, section 4.2
double multi_step(const SchedulePosition& position, const ScheduleOptions& options, const Plateau&) {
  const std::int64_t epoch = position.step / position.steps_per_epoch;
  const auto passed = std::upper_bound(options.milestones.begin(), options.milestones.end(), epoch);
  return std::pow(options.gamma, static_cast<double>(passed - options.milestones.begin()));
}

}  // namespace mangrove::learn::rules
