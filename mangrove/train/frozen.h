#pragma once

#include <memory>

#include "mangrove/graph/graph.h"
#include "mangrove/learn/features.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

// A job may have a frozen part of its network in front of the part that it trains (its model). Workers run the frozen
// part once for each sample, when they read the sample, and train on its outputs. So the frozen part has no gradients
// and no optimizer state. Its weights travel with the job only, and its batch normalizations use their running
// statistics.

inline bool has_frozen_part(const TrainJob& job) {
  return !job.frozen().empty();
}

/// For a job with a frozen part: checks that it fits the model. errors: invalid_argument, data_loss (not an ONNX file),
/// and those of parse_onnx and join.
Status check_frozen(const TrainJob& job);

/// The trained model with the frozen part, if there is one, in front of it. REQUIRES check_frozen.
Graph whole_network(const TrainJob& job, const Graph& trained);

/// The frozen part of a job that has one, ready to run on samples. errors: those of parse_onnx and
/// FeatureExtractor::create.
Result<std::shared_ptr<learn::FeatureExtractor>> make_frozen_part(const TrainJob& job, int threads);

}  // namespace mangrove::train
