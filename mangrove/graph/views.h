#pragma once

#include <string>
#include <vector>

#include "mangrove/graph/graph.h"

namespace mangrove {

/// A network over several devices takes its image [N, C, H, W] apart: each operator "Slice" of the input is what one
/// device sees. Nothing else marks it, so that an ONNX file keeps it.
/// Names of these operators, in node order; none of a network that has no input of rank 4.
std::vector<std::string> views_of(const Graph& graph);

/// The network without some devices. lost: "2,5", their numbers, from 1; "" is none. What they would see is zeros, so
/// that what is computed of it is the same for every sample, and known without them.
/// errors: invalid_argument (no network of several views; a number that is none of a view, or given twice; none left).
Result<Graph> without_views(const Graph& graph, const std::string& lost);

}  // namespace mangrove
