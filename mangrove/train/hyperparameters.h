#pragma once

#include <cstdint>

#include "mangrove/base/result.h"
#include "mangrove/learn/loss.h"
#include "mangrove/learn/optimizer.h"
#include "mangrove/learn/schedule.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// How a job learns, whatever its strategy.
struct Hyperparameters {
  learn::OptimizerOptions optimizer;
  learn::ScheduleOptions schedule;
  learn::LossOptions loss;
  float ema_decay = 0;
  std::int64_t patience = 0;
};

/// errors: not_found (unknown optimizer, schedule or loss; names the nearest known one), invalid_argument (a value out
/// of its range, or a loss that needs more than a data set has; names the key).
Result<Hyperparameters> hyperparameters_of(const TrainJob& job);

}  // namespace mangrove::train
