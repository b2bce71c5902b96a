#pragma once

#include "mangrove/base/result.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/infer/pipeline/stage_plan.h"

namespace mangrove::infer {

/// Values of the key `baseline`.
constexpr const char* kAutoBaseline = "auto";
constexpr const char* kNoBaseline = "off";

/// errors: not_found (an unknown strategy), invalid_argument (a value that makes no sense: names the key, the value and
/// what is allowed).
Status check_job(const InferJob& job);

/// The most micro-batches in flight: the job's number, or the plan's.
std::size_t window(const InferJob& job, const StagePlan& plan);

}  // namespace mangrove::infer
