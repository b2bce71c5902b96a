#include "mangrove/infer/tiles/objective.h"

namespace mangrove::infer {

Status check_objective(const InferJob& job) {
  if (job.objective() == kLatency || job.objective() == kThroughput) return {};
  return make_error(Code::invalid_argument, "objective: '" + job.objective() + "' is neither latency nor throughput");
}

plan::Objective objective_of(const InferJob& job) {
  return job.objective() == kThroughput ? plan::Objective::throughput : plan::Objective::latency;
}

}  // namespace mangrove::infer
