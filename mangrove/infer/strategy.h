#pragma once

#include "mangrove/infer/strategy_row.h"

namespace mangrove::infer {

/// Runs the job's strategy. errors: not_found (unknown strategy, with the nearest known one), invalid_argument (a job
/// with values that make no sense, e.g. more stages than operators: names the key), those of the strategy.
Status run_inference(const InferJob& job, job::RoleContext& context);

}  // namespace mangrove::infer
