#include "mangrove/graph/cut.h"

#include <algorithm>
#include <set>

namespace mangrove {

Result<Graph> in_order(const Graph& graph, std::span<const std::uint32_t> order) {
  const auto wrong = [&] {
    return make_error(Code::invalid_argument, "not an order of the " + std::to_string(graph.nodes().size()) +
                                                  " operators of model '" + graph.name() + "'");
  };
  GraphParts parts = graph.parts();
  parts.nodes.clear();
  for (const std::uint32_t node : order) {
    if (node >= graph.nodes().size()) return wrong();
    parts.nodes.push_back(graph.nodes()[node]);
  }
  Result<Graph> ordered = Graph::create(std::move(parts));  // which sorts what is in no order
  if (!ordered.ok() || ordered->nodes().size() != graph.nodes().size()) return wrong();
  for (std::size_t i = 0; i < order.size(); ++i)
    if (ordered->nodes()[i].name != graph.nodes()[order[i]].name) return wrong();
  return ordered;
}

std::vector<std::string> values_at_cut(const Graph& graph, std::size_t position) {
  const std::vector<Node>& nodes = graph.nodes();
  std::set<std::string> wanted(graph.outputs().begin(), graph.outputs().end());
  for (std::size_t i = position; i < nodes.size(); ++i) wanted.insert(nodes[i].inputs.begin(), nodes[i].inputs.end());
  std::vector<std::string> values;
  for (const auto& [name, info] : graph.inputs()) {
    if (wanted.contains(name) && !graph.initializers().contains(name)) values.push_back(name);
  }
  for (std::size_t i = 0; i < position; ++i) {
    std::copy_if(nodes[i].outputs.begin(), nodes[i].outputs.end(), std::back_inserter(values),
                 [&](const std::string& name) { return !name.empty() && wanted.contains(name); });
  }
  return values;
}

bool can_travel(const ValueInfo& info) {
  return info.dtype == DType::f32 && (!info.shape.is_symbolic() || info.shape.batch_axis() == 0u);
}

std::int64_t elements_of(const ValueInfo& info, std::int64_t count) {
  return info.shape.is_symbolic() ? info.shape.with_batch(count).elements() : info.shape.elements();
}

std::int64_t elements_at_cut(const Graph& graph, std::size_t position, std::int64_t count) {
  std::int64_t elements = 0;
  for (const std::string& name : values_at_cut(graph, position)) elements += elements_of(graph.value(name), count);
  return elements;
}

}  // namespace mangrove
