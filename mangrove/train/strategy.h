#pragma once

#include "mangrove/train/strategy_row.h"

namespace mangrove::train {

/// Runs the job's strategy. errors: not_found (unknown strategy, with the nearest known one), invalid_argument (a job
/// with values that make no sense: names the key), those of the strategy.
Status run_training(const TrainJob& job, job::RoleContext& context);

}  // namespace mangrove::train
