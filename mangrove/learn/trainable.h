#pragma once

#include "mangrove/base/result.h"
#include "mangrove/graph/graph.h"

namespace mangrove::learn {

/// Whether the graph is a classifier (check_classifier) with parameters to train.
/// errors: invalid_argument (says what is missing).
Status check_trainable(const Graph& graph);

}  // namespace mangrove::learn
