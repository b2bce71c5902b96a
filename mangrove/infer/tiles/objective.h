#pragma once

#include "mangrove/infer/infer.pb.h"
#include "mangrove/plan/problem.h"

namespace mangrove::infer {

/// Values of the key `objective`.
constexpr const char* kLatency = "latency";
constexpr const char* kThroughput = "throughput";

/// errors: invalid_argument (another value).
Status check_objective(const InferJob& job);
/// REQUIRES: check_objective() is ok.
plan::Objective objective_of(const InferJob& job);

}  // namespace mangrove::infer
