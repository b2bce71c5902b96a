#pragma once

#include <cstdint>

#include "mangrove/graph/graph.h"

namespace mangrove {

/// Multiply-adds of a node's matrix products for `batch` samples, as papers count the work of a network: convolutions,
/// dense and recurrent layers; 0 for every other operator. Biases and activations do not count.
std::int64_t multiply_adds(const Graph& graph, const Node& node, std::int64_t batch);
/// Of all nodes together.
std::int64_t multiply_adds(const Graph& graph, std::int64_t batch);

}  // namespace mangrove
