#include "mangrove/graph/views.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

namespace mangrove {
namespace {

bool is_view(const Graph& graph, const Node& node) {
  const auto& [image, info] = graph.inputs().front();
  return node.op == "Slice" && info.shape.rank() == 4 && node.inputs.front() == image;
}

Result<std::set<std::size_t>> parse(const std::string& lost, std::size_t views) {
  const auto wrong = [&](const std::string& what) {
    return make_error(Code::invalid_argument, "lost_views: '" + lost + "': " + what);
  };
  if (views < 2) return wrong("the network does not take its image apart into views of several devices");
  std::set<std::size_t> numbers;
  const char* const end = lost.data() + lost.size();
  for (const char* at = lost.data();; ++at) {
    std::size_t view = 0;
    const auto [next, error] = std::from_chars(at, end, view);
    if (error != std::errc() || view < 1 || view > views || (next != end && *next != ','))
      return wrong("expected numbers of views, 1 to " + std::to_string(views) + ", with commas between");
    if (!numbers.insert(view).second) return wrong(std::to_string(view) + " is given twice");
    at = next;
    if (at == end) break;
  }
  if (numbers.size() == views) return wrong("none is left");
  return numbers;
}

}  // namespace

std::vector<std::string> views_of(const Graph& graph) {
  std::vector<std::string> views;
  if (graph.inputs().empty()) return views;
  for (const Node& node : graph.nodes())
    if (is_view(graph, node)) views.push_back(node.name);
  return views;
}

Result<Graph> without_views(const Graph& graph, const std::string& lost) {
  if (lost.empty()) return graph;
  const std::vector<std::string> views = views_of(graph);
  MG_TRY(const std::set<std::size_t> numbers, parse(lost, views.size()));
  GraphParts parts = graph.parts();
  const std::string nothing = "lost_views.zero";
  parts.initializers[nothing] = Tensor::of<float>(Shape{}, {0});
  for (const std::size_t view : numbers) {
    Node& slice = *std::ranges::find(parts.nodes, views[view - 1], &Node::name);
    const std::string given = slice.outputs[0];
    slice.outputs[0] += ".seen";
    Node cleared{slice.name + ".lost", "Mul", {}, {slice.outputs[0], nothing}, {given}};
    parts.nodes.push_back(std::move(cleared));
  }
  return Graph::create(std::move(parts));
}

}  // namespace mangrove
