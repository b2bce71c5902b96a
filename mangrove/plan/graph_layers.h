#pragma once

#include <iterator>
#include <span>
#include <vector>

#include "mangrove/graph/graph.h"
#include "mangrove/plan/layers.h"

namespace mangrove::plan {

/// A graph as the planner sees it: its nodes are grouped into layers, which are never divided.
struct GraphLayers {
  Layers network;
  std::vector<std::vector<std::size_t>> nodes;  // the nodes of each layer, ascending

  /// Of each layer the sum over its nodes. of_nodes: a number for each node of the graph.
  template <class List>
  std::vector<typename List::value_type> sums(const List& of_nodes) const {
    std::vector<typename List::value_type> of_layers(nodes.size(), 0);
    for (std::size_t layer = 0; layer < nodes.size(); ++layer)
      for (const std::size_t node : nodes[layer])
        of_layers[layer] += *std::next(of_nodes.begin(), static_cast<std::ptrdiff_t>(node));
    return of_layers;
  }
};

/// The layer of each node, with layers as small as possible. An activation function is in one layer with the operator
/// before it, if it alone reads that operator's result, because kernels compute both together. A value that cannot
/// travel (see can_travel) stays within a layer: its maker, its last reader and all between them are one. Layers are
/// numbered from 0 in the order of their first nodes.
std::vector<std::size_t> fused_layers(const Graph& graph);

/// layer: the layer of each node. Every number up to the highest is used, and no node reads from a layer with a higher
/// number. training: activations are the values that are kept for the backward pass, and parameters are the trained
/// ones; each counts once in a layer.
GraphLayers layers_of(const Graph& graph, std::span<const std::size_t> layer, std::int64_t batch, bool training);
/// Does the same with fused_layers(graph).
GraphLayers layers_of(const Graph& graph, std::int64_t batch, bool training);

}  // namespace mangrove::plan
