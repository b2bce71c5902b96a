#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "mangrove/graph/graph.h"
#include "mangrove/graph/movement_geometry.h"
#include "mangrove/graph/tile_reads.h"

namespace mangrove {

/// What a rule sees. Every input is a map or a constant, every output a map. Input 0 is a map unless constants may be
/// cut.
struct TiledNode {
  const Graph& graph;
  const Node& node;
  const std::set<std::string>& learned;

  const Tensor* constant(std::size_t input) const {
    if (!has_input(node, input)) return nullptr;
    const auto found = graph.initializers().find(node.inputs[input]);
    return found == graph.initializers().end() ? nullptr : &found->second;
  }
  std::vector<const Tensor*> constants() const {
    std::vector<const Tensor*> all;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) all.push_back(constant(i));
    return all;
  }
  const Shape& input(std::size_t position) const { return graph.value(node.inputs[position]).shape; }
  const Shape& output() const {
    const auto first = std::ranges::find_if(node.outputs, [](const std::string& name) { return !name.empty(); });
    return graph.value(*first).shape;
  }
};

/// The axes of an operator that reads what is at the same place. A rule changes them for operators that read elsewhere.
inline std::array<TileAxis, 2> axes_between(const Shape& input, const Shape& output) {
  std::array<TileAxis, 2> axes;
  for (std::size_t i = 0; i < 2; ++i) {
    axes[i].input = plane_size(input, i);
    axes[i].output = plane_size(output, i);
  }
  return axes;
}

/// What a tile needs of an operator whose input 0 is its only map.
inline TileReads from_first(const std::array<TileAxis, 2>& axes) {
  return {.maps = {{0, axes}}};
}

}  // namespace mangrove
