#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "mangrove/graph/exits.h"
#include "mangrove/graph/split.h"
#include "mangrove/graph/views.h"

namespace mangrove {
namespace {

/// Which values of a network are made of one view alone, and which of several.
struct Origins {
  std::map<std::string, std::size_t> view;  // of values of one
  std::set<std::string> several;            // constants are in neither
};

Error wrong(const Graph& graph, const std::string& what) {
  return make_error(Code::invalid_argument, "network '" + graph.name() + "' " + what);
}

Result<Origins> origins_of(const Graph& graph, const std::vector<std::string>& views) {
  Origins origins;
  const std::string& image = graph.inputs().front().first;
  for (const Node& node : graph.nodes()) {
    const auto view = std::ranges::find(views, node.name);
    std::set<std::size_t> seen;
    bool is_above = false;
    if (view != views.end()) {
      seen.insert(static_cast<std::size_t>(view - views.begin()));
    } else if (std::ranges::count(node.inputs, image) > 0) {
      return wrong(graph, "reads its image in '" + node.name + "' too, not only in its views");
    }
    for (const std::string& input : node.inputs) {
      if (const auto found = origins.view.find(input); found != origins.view.end()) seen.insert(found->second);
      is_above = is_above || origins.several.contains(input);
    }
    for (const std::string& output : node.outputs) {
      if (output.empty()) continue;  // left out, as inputs can be
      if (is_above || seen.size() > 1) {
        origins.several.insert(output);
      } else if (!seen.empty()) {
        origins.view[output] = *seen.begin();
      }
    }
  }
  return origins;
}

/// The values of single views that these exits are made of, by view, in node order.
std::vector<std::vector<std::string>> needed_of_views(const Graph& graph, const Origins& origins, std::size_t views,
                                                      std::span<const std::string> exits) {
  std::set<std::string> needed(exits.begin(), exits.end());
  for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node) {
    const auto is_needed = [&](const std::string& output) {
      return needed.contains(output) && origins.several.contains(output);
    };
    if (std::ranges::any_of(node->outputs, is_needed)) needed.insert(node->inputs.begin(), node->inputs.end());
  }
  std::vector<std::vector<std::string>> by_view(views);
  for (const Node& node : graph.nodes()) {
    for (const std::string& output : node.outputs) {
      const auto found = origins.view.find(output);
      if (needed.contains(output) && found != origins.view.end()) by_view[found->second].push_back(output);
    }
  }
  return by_view;
}

std::vector<std::string> joined(const std::vector<std::vector<std::string>>& by_view) {
  std::vector<std::string> all;
  for (const auto& values : by_view) all.insert(all.end(), values.begin(), values.end());
  return all;
}

}  // namespace

Result<ViewSplit> split_views(const Graph& graph) {
  const std::vector<std::string> views = views_of(graph);
  if (views.size() < 2) return wrong(graph, "does not take its image apart into views of several devices");
  if (!has_early_exits(graph)) return wrong(graph, "has no early exits");
  MG_TRY(const Origins origins, origins_of(graph, views));
  const std::span<const std::string> exits = graph.outputs();
  for (const std::string& exit : exits)
    if (const auto found = origins.view.find(exit); found != origins.view.end())
      return wrong(graph, "has an exit '" + exit + "' that is made of view '" + views[found->second] + "' alone");
  const auto scores = needed_of_views(graph, origins, views.size(), exits.first(1));
  const auto features = needed_of_views(graph, origins, views.size(), exits.subspan(1));
  std::vector<ViewSplit::Device> devices;
  for (std::size_t v = 0; v < views.size(); ++v) {
    std::vector<std::string> outputs = scores[v];
    for (const std::string& value : features[v])
      if (std::ranges::count(outputs, value) == 0) outputs.push_back(value);
    if (outputs.empty()) return wrong(graph, "has a view '" + views[v] + "' that no exit needs");
    MG_TRY(Graph part, Graph::create(parts_between(graph, {}, outputs)));
    devices.push_back({std::move(part), scores[v], features[v]});
  }
  MG_TRY(Graph fusion, Graph::create(parts_between(graph, joined(scores), exits.first(1))));
  MG_TRY(Graph upper, Graph::create(parts_between(graph, joined(features), exits.subspan(1))));
  return ViewSplit{std::move(devices), std::move(fusion), std::move(upper)};
}

}  // namespace mangrove
