#include "mangrove/graph/exits.h"

#include <algorithm>
#include <set>
#include <utility>

#include "mangrove/graph/split.h"

namespace mangrove {

bool has_early_exits(const Graph& graph) {
  const ValueInfo& last = graph.value(graph.outputs().back());
  return graph.outputs().size() > 1 && last.dtype == DType::f32 && last.shape.rank() == 2 &&
         last.shape.batch_axis() == 0u &&
         std::ranges::all_of(graph.outputs(), [&](const std::string& output) { return graph.value(output) == last; });
}

std::size_t answering_output(const Graph& graph) {
  return has_early_exits(graph) ? graph.outputs().size() - 1 : 0;
}

Graph without_early_exits(const Graph& graph) {
  return Graph::create(parts_before(graph, graph.outputs().back())).value();
}

Result<ExitSegments> exit_segments(const Graph& graph) {
  GraphParts parts = graph.parts();
  parts.nodes.clear();
  std::set<std::string> placed;
  std::vector<std::size_t> ends;
  for (const std::string& output : graph.outputs()) {
    const std::size_t before = parts.nodes.size();
    for (Node& node : parts_before(graph, output).nodes)
      if (placed.insert(node.name).second) parts.nodes.push_back(std::move(node));
    ends.push_back(parts.nodes.size());
    if (ends.back() > before) continue;
    return make_error(Code::invalid_argument, "exit '" + output + "' of graph '" + graph.name() +
                                                  "' needs no operator beyond those of the exits before it; exits are "
                                                  "listed from the first to the last");
  }
  MG_TRY(Graph ordered, Graph::create(std::move(parts)));  // which keeps an order that is one
  return ExitSegments{std::move(ordered), std::move(ends)};
}

}  // namespace mangrove
