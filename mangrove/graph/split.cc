#include "mangrove/graph/split.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "mangrove/base/suggestion.h"

namespace mangrove {
namespace {

Result<const Node*> find_node(const Graph& graph, const std::string& name) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) {
    if (node.name == name) return &node;
    names.push_back(node.name);
  }
  return make_error(Code::not_found,
                    "graph '" + graph.name() + "' has no node '" + name + "'" + did_you_mean(name, names));
}

Error no_cut(const Graph& graph, const std::string& node, const std::string& why) {
  return make_error(Code::invalid_argument,
                    "graph '" + graph.name() + "' cannot be cut behind node '" + node + "': " + why);
}

Result<Graph> renamed(const Graph& slice, const std::string& name) {
  GraphParts parts = slice.parts();
  parts.name = name;
  return Graph::create(std::move(parts));
}

Status check_unshared(const Graph& graph, const std::string& node, const GraphHalves& halves) {
  const std::vector<std::string> behind = halves.back.parameters();
  for (const std::string& parameter : halves.front.parameters())
    if (std::ranges::find(behind, parameter) != behind.end())
      return no_cut(graph, node, "parameter '" + parameter + "' is used on both sides");
  return {};
}

}  // namespace

GraphParts parts_between(const Graph& graph, std::span<const std::string> given, std::span<const std::string> wanted) {
  GraphParts parts = graph.parts();
  std::set<std::string> needed(wanted.begin(), wanted.end());
  const std::set<std::string> made(given.begin(), given.end());
  std::vector<Node> kept;
  for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node) {
    const auto is_needed = [&](const std::string& output) { return needed.contains(output) && !made.contains(output); };
    if (std::ranges::none_of(node->outputs, is_needed)) continue;
    needed.insert(node->inputs.begin(), node->inputs.end());
    needed.erase("");  // an optional input left out
    kept.push_back(*node);
  }
  std::ranges::reverse(kept);
  parts.nodes = std::move(kept);
  parts.outputs.assign(wanted.begin(), wanted.end());
  std::erase_if(parts.inputs,
                [&](const auto& input) { return !needed.contains(input.first) || made.contains(input.first); });
  std::vector<std::pair<std::string, ValueInfo>> inputs;
  for (const std::string& value : given) inputs.emplace_back(value, graph.value(value));
  parts.inputs.insert(parts.inputs.begin(), inputs.begin(), inputs.end());
  std::erase_if(parts.initializers, [&](const auto& initializer) { return !needed.contains(initializer.first); });
  return parts;
}

GraphParts parts_before(const Graph& graph, const std::string& value) {
  return parts_between(graph, {}, std::span(&value, 1));
}

Result<GraphHalves> split_behind(const Graph& graph, const std::string& node) {
  MG_TRY(const Node* last, find_node(graph, node));
  const std::string& cut = last->outputs[0];
  GraphParts parts = graph.parts();
  parts.nodes = parts_before(graph, cut).nodes;
  const std::size_t front_nodes = parts.nodes.size();
  if (front_nodes == graph.nodes().size()) return no_cut(graph, node, "nothing lies behind it");
  std::set<std::string> in_front;
  for (const Node& before : parts.nodes) in_front.insert(before.name);
  for (const Node& other : graph.nodes())
    if (!in_front.contains(other.name)) parts.nodes.push_back(other);
  MG_TRY(const Graph ordered, Graph::create(std::move(parts)));  // keeps this order: nothing in front needs the rest
  MG_TRY(const Graph front, ordered.slice(0, front_nodes));
  MG_TRY(const Graph back, ordered.slice(front_nodes, graph.nodes().size()));
  for (const std::string& output : front.outputs())
    if (output != cut) return no_cut(graph, node, "value '" + output + "' is used behind it too");
  for (const auto& [input, info] : back.inputs())
    if (input != cut) return no_cut(graph, node, "value '" + input + "' is used behind it too");
  MG_TRY(Graph first, renamed(front, graph.name()));
  MG_TRY(Graph second, renamed(back, graph.name()));
  GraphHalves halves{std::move(first), std::move(second)};
  MG_RETURN_IF_ERROR(check_unshared(graph, node, halves));
  return halves;
}

Result<Graph> join(const Graph& front, const Graph& back) {
  if (front.outputs().size() != 1 || back.inputs().size() != 1 || front.outputs()[0] != back.inputs()[0].first)
    return make_error(Code::invalid_argument, "graphs '" + front.name() + "' and '" + back.name() +
                                                  "' cannot be joined: the first must have one output, which is the "
                                                  "only input of the second");
  GraphParts parts = back.parts();
  parts.inputs = front.inputs();
  parts.nodes.insert(parts.nodes.begin(), front.nodes().begin(), front.nodes().end());
  parts.initializers.insert(front.initializers().begin(), front.initializers().end());
  parts.metadata.insert(front.metadata().begin(), front.metadata().end());
  return Graph::create(std::move(parts));
}

}  // namespace mangrove
