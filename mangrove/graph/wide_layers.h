#pragma once

#include "mangrove/graph/graph.h"

namespace mangrove {

/// Cuts fully connected layers (Gemm) whose weights take more than `most` bytes into parts with some of the outputs
/// each, of nearly equal size, and joins their results (Concat). So devices of which none can hold such a layer can
/// hold it together: the first of VGG-16 has 411 MB of weights, of 528 MB in all. Every output is the same sum of
/// products as before. The parts are called as the layer, with "/part1" and so on behind its name; a layer whose
/// weights or bias other nodes read, too, stays whole. errors: invalid_argument (the graph has values of
/// such names already). REQUIRES: graph.has_weights().
Result<Graph> split_wide_layers(const Graph& graph, Bytes most);

}  // namespace mangrove
