#include "mangrove/train/data_parallel/learning_rates.h"

#include <algorithm>

namespace mangrove::train {

float LearningRates::rate(const learn::Schedule& schedule, std::int64_t position) const {
  return schedule.rate(basis_.base_learning_rate,
                       {.step = position, .total = total(), .steps_per_epoch = steps_per_epoch()});
}

std::vector<float> LearningRates::local_rates(const learn::Schedule& schedule, std::int64_t position,
                                              std::int64_t steps, std::int64_t of_job) const {
  std::vector<float> rates;
  for (std::int64_t i = 0; i < steps; ++i)
    rates.push_back(rate(schedule, std::min(position + i * of_job / steps, total() - 1)));
  return rates;
}

}  // namespace mangrove::train
