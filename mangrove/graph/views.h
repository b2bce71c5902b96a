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

/// A network of several views with early exits, in the parts that lie on different devices.
/// source: Teerapittayanon, McDanel & Kung, Distributed deep neural networks over the cloud, the edge and end devices,
/// ICDCS 2017.
struct ViewSplit {
  /// All that is computed of one view alone, from the image; it begins with the view's Slice.
  struct Device {
    Graph graph;
    std::vector<std::string> scores, features;  // its outputs: what `fusion` needs of it, and what `upper` does
  };
  std::vector<Device> devices;  // in the order of the views
  Graph fusion;                 // the first exit, from the scores of all devices, device by device
  Graph upper;                  // the other exits, from the features of all devices, likewise
};
/// What both `fusion` and `upper` need is a score and a feature. errors: invalid_argument (not several views; no early
/// exits; an operator besides the views reads the image; a view that no exit needs; an exit of one view: names it).
Result<ViewSplit> split_views(const Graph& graph);

}  // namespace mangrove
