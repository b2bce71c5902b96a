#pragma once

#include <span>
#include <string>

#include "mangrove/base/result.h"
#include "mangrove/graph/graph.h"

namespace mangrove {

/// The part of a graph that computes these values, which become its outputs, from those given and from other inputs of
/// the graph. Given values become inputs, in this order, before the others. REQUIRES graph.has_value() of all.
GraphParts parts_between(const Graph& graph, std::span<const std::string> given, std::span<const std::string> wanted);
/// The part of a graph that computes this value, which becomes its only output. REQUIRES graph.has_value(value).
GraphParts parts_before(const Graph& graph, const std::string& value);

/// A network in two: `front` computes one value from the network's inputs, `back` its outputs from that value.
struct GraphHalves {
  Graph front, back;
};

/// Cuts behind the output of this node: `front` is all that it needs, `back` the rest. Both keep the graph's name and
/// metadata. errors: not_found (no such node; with the nearest), invalid_argument (another value gets past the cut, or
/// parameters are used on both sides: names them; nothing lies behind the node).
Result<GraphHalves> split_behind(const Graph& graph, const std::string& node);

/// The network again, called as `back`, whose metadata win. errors: invalid_argument: the only output of `front` is not
/// the only input of `back`; those of Graph::create.
Result<Graph> join(const Graph& front, const Graph& back);

}  // namespace mangrove
