#pragma once

#include <string>
#include <vector>

#include "mangrove/graph/graph.h"

namespace mangrove::compress {

/// Weights of a layer: of a convolution, a product or a recurrent layer; f32, rank 2 or more.
struct LayerWeights {
  std::string node;     // the first that uses them
  std::string weights;  // the parameter
  std::string bias;     // "": it has none, or one that it computes
  bool is_convolution = false;
};

/// Lists the weights of a network in node order, each parameter once.
std::vector<LayerWeights> layers_with_weights(const Graph& graph);

}  // namespace mangrove::compress
