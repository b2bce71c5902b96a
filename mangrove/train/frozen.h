#pragma once

#include <memory>

#include "mangrove/graph/graph.h"
#include "mangrove/learn/features.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

// A job may have a frozen part of its network in front of the one that it trains (its model). Workers run it once for
// each sample, as a part of reading it, and train on what comes out: so it has no gradients, nothing remembered by the
// optimizer, its weights are exchanged with the job only, and its batch normalizations go by their running statistics.

inline bool has_frozen_part(const TrainJob& job) {
  return !job.frozen().empty();
}

/// Of a job that has a frozen part: that it fits the model. errors: invalid_argument, data_loss (no ONNX), and those of
/// parse_onnx and join.
Status check_frozen(const TrainJob& job);

/// The trained model with the frozen part, if there is one, in front of it. REQUIRES check_frozen.
Graph whole_network(const TrainJob& job, const Graph& trained);

/// The frozen part of a job that has one, to run on samples. errors: those of parse_onnx and FeatureExtractor::create.
Result<std::shared_ptr<learn::FeatureExtractor>> make_frozen_part(const TrainJob& job, int threads);

}  // namespace mangrove::train
