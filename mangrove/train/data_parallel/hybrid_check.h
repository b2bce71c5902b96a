#pragma once

#include "mangrove/base/result.h"
#include "mangrove/graph/graph.h"
#include "mangrove/train/hyperparameters.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// Whether strategy hybrid can train the job's network. errors: invalid_argument (the network has no pair of layers
/// that can be divided, or has early exits; or an update would need all elements of a layer, or of the network, at one
/// place: names the key).
Status check_hybrid(const TrainJob& job, const Graph& graph, const Hyperparameters& recipe);

}  // namespace mangrove::train
