#pragma once

#include <vector>

#include "mangrove/learn/metrics.h"
#include "mangrove/train/data_parallel/worker_roster.h"

namespace mangrove::train {

struct EvaluationTask {
  bool validation;       // true: the validation split; false: the test split
  std::int64_t samples;  // samples of the split
  std::int32_t classes;
  std::int64_t batch;    // samples that a worker classifies at once
  std::int64_t version;  // version of the values
};

struct Evaluation {
  learn::ConfusionMatrix confusion;
  double loss = 0;                               // mean
  std::vector<std::int64_t> early_correct = {};  // samples, at each early exit of the network
};

/// The accuracy at each exit of the network, the last one included. Empty for a network without early exits.
std::vector<double> accuracy_at_exits(const Evaluation& evaluation);

/// Classifies a split on the workers. A worker gets the next samples as soon as it has answered the last ones. The
/// samples of a worker that is dropped go to the others, so every sample is counted exactly once. values: see
/// GlobalModel. errors: cancelled (the job is asked to stop), those of WorkerRoster::next.
Result<Evaluation> evaluate_on_workers(job::RoleContext& context, WorkerRoster& workers, Reports& reports,
                                       const EvaluationTask& task, std::span<const float> values);

}  // namespace mangrove::train
