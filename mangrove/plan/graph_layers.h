#pragma once

#include <vector>

#include "mangrove/graph/graph.h"
#include "mangrove/plan/layers.h"

namespace mangrove::plan {

/// A graph as the planner sees it. An activation function is one layer with the operator whose result it alone reads:
/// kernels compute both in one.
struct GraphLayers {
  Layers network;
  std::vector<std::vector<std::size_t>> nodes;  // of each layer, in order
};

GraphLayers layers_of(const Graph& graph, std::int64_t batch, bool training);

}  // namespace mangrove::plan
