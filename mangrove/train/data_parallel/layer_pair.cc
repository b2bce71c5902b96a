#include "mangrove/train/data_parallel/layer_pair.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "mangrove/graph/cut.h"
#include "mangrove/graph/operator.h"

namespace mangrove::train {
namespace {

std::size_t uses(const Graph& graph, const std::string& value) {
  std::size_t count = static_cast<std::size_t>(std::ranges::count(graph.outputs(), value));
  for (const Node& node : graph.nodes()) count += static_cast<std::size_t>(std::ranges::count(node.inputs, value));
  return count;
}

/// Of this layer alone, and trained.
bool is_own_parameter(const Graph& graph, const std::string& name, std::size_t rank) {
  return graph.initializers().contains(name) && graph.value(name).dtype == DType::f32 &&
         graph.value(name).shape.rank() == rank && uses(graph, name) == 1;
}

bool has_bias(const Node& layer) {
  return layer.inputs.size() > 2 && !layer.inputs[2].empty();
}

/// A layer y = x W + b of one sample in a row, with an element of b for each of y.
bool is_dense(const Graph& graph, const Node& node) {
  if (node.op != "Gemm" || node.int_or("transA", 0) != 0 || node.float_or("beta", 1) != 1) return false;
  if (!is_own_parameter(graph, node.inputs[1], 2) || graph.value(node.inputs[0]).shape.batch_axis() != 0) return false;
  return !has_bias(node) || (is_own_parameter(graph, node.inputs[2], 1) &&
                             graph.value(node.inputs[2]).shape[0] == graph.value(node.outputs[0]).shape[1]);
}

/// Each of its outputs depends on one of its inputs, and on no parameter.
bool is_between(const Node& node) {
  const Operator* const row = find_operator(node.op);
  return row->activation || node.op == "Dropout";
}

using Names = std::set<std::string>;

/// Those of the names that operators [first, last) read.
Names read_by(const Graph& graph, std::size_t first, std::size_t last, const std::vector<std::string>& names) {
  const Names all(names.begin(), names.end());
  Names read;
  for (std::size_t i = first; i < last; ++i)
    for (const std::string& input : graph.nodes()[i].inputs)
      if (all.contains(input)) read.insert(input);
  return read;
}

/// No parameter and no state is used both in front of this operator and from it on.
bool divides_parameters(const Graph& graph, std::size_t position) {
  std::vector<std::string> names = graph.parameters();
  const std::vector<std::string> states = graph.states();
  names.insert(names.end(), states.begin(), states.end());
  const Names before = read_by(graph, 0, position, names);
  const Names behind = read_by(graph, position, graph.nodes().size(), names);
  return std::ranges::none_of(before, [&](const std::string& name) { return behind.contains(name); });
}

/// Operators [0, position) make this value, or there are none.
bool is_made_before(const Graph& graph, std::size_t position, const std::string& value) {
  const auto end = graph.nodes().begin() + static_cast<std::ptrdiff_t>(position);
  const auto makes = [&](const Node& node) { return std::ranges::count(node.outputs, value) > 0; };
  return position == 0 || std::any_of(graph.nodes().begin(), end, makes);
}

std::optional<LayerPair> pair_from(const Graph& graph, std::size_t begin) {
  const std::vector<Node>& nodes = graph.nodes();
  if (!is_dense(graph, nodes[begin])) return std::nullopt;
  std::size_t last = begin + 1;
  for (; last < nodes.size(); ++last) {
    const std::string& value = nodes[last - 1].outputs[0];
    if (nodes[last].inputs.empty() || nodes[last].inputs[0] != value || uses(graph, value) != 1) return std::nullopt;
    if (!is_between(nodes[last])) break;
  }
  if (last == nodes.size() || !is_dense(graph, nodes[last])) return std::nullopt;
  const Node &first = nodes[begin], &second = nodes[last];
  if (last + 1 == nodes.size() && !has_bias(second)) return std::nullopt;
  if (values_at_cut(graph, begin) != std::vector{first.inputs[0]} ||
      values_at_cut(graph, last + 1) != std::vector{second.outputs[0]} || !divides_parameters(graph, begin) ||
      !is_made_before(graph, begin, first.inputs[0]))
    return std::nullopt;
  LayerPair pair{.first = first.name, .second = second.name, .begin = begin, .end = last + 1};
  pair.features = graph.value(first.inputs[0]).shape[1];
  pair.hidden = graph.value(first.outputs[0]).shape[1];
  pair.outputs = graph.value(second.outputs[0]).shape[1];
  pair.divided_elements = (pair.features + (has_bias(first) ? 1 : 0) + pair.outputs) * pair.hidden;
  for (const std::string& name : read_by(graph, 0, begin, graph.parameters()))
    pair.elements_before += graph.value(name).shape.elements();
  return pair;
}

}  // namespace

std::vector<LayerPair> layer_pairs(const Graph& graph) {
  std::vector<LayerPair> pairs;
  for (std::size_t i = 0; i < graph.nodes().size(); ++i)
    if (auto pair = pair_from(graph, i)) pairs.push_back(std::move(*pair));
  return pairs;
}

}  // namespace mangrove::train
