#include "mangrove/engine/gradient_flow.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "mangrove/graph/operator.h"

namespace mangrove {
namespace {

using Names = std::set<std::string>;

bool is_floating(const Graph& graph, const std::string& value) {
  if (value.empty()) return false;
  const DType dtype = graph.value(value).dtype;
  return dtype == DType::f32 || dtype == DType::f64;
}

/// Whether a gradient comes back from this output of the node.
bool passes_gradient(const Graph& graph, const Node& node, const std::string& output) {
  return find_operator(node.op)->differentiable && is_floating(graph, output);
}

/// The values on which an output depends: at all, or (differentiably) so that a gradient gets to them.
Names before_outputs(const Graph& graph, bool differentiably) {
  Names reached;
  for (const std::string& output : graph.outputs())
    if (!differentiably || is_floating(graph, output)) reached.insert(output);
  for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node) {
    const auto leads_on = [&](const std::string& output) {
      return reached.contains(output) && (!differentiably || passes_gradient(graph, *node, output));
    };
    if (std::ranges::none_of(node->outputs, leads_on)) continue;
    for (const std::string& input : node->inputs)
      if (!differentiably || is_floating(graph, input)) reached.insert(input);
  }
  return reached;
}

}  // namespace

Status check_trainable(const Graph& graph) {
  const Names used = before_outputs(graph, false), trained = before_outputs(graph, true);
  std::map<std::string, Names> behind;  // the parameters that are cut off, for each value that a gradient joins to them
  for (const std::string& name : graph.parameters())
    if (is_floating(graph, name) && used.contains(name) && !trained.contains(name)) behind[name] = {name};
  if (behind.empty()) return {};
  for (const Node& node : graph.nodes()) {
    Names parameters;
    for (const std::string& input : node.inputs)
      if (const auto found = behind.find(input); found != behind.end())
        parameters.insert(found->second.begin(), found->second.end());
    if (parameters.empty()) continue;
    for (const std::string& output : node.outputs) {
      if (passes_gradient(graph, node, output)) {
        behind[output].insert(parameters.begin(), parameters.end());
      } else if (used.contains(output)) {
        std::string names;
        for (const std::string& name : parameters) names += (names.empty() ? "'" : ", '") + name + "'";
        return make_error(Code::invalid_argument, "node '" + node.name + "' (" + node.op + "), output '" + output +
                                                      "': no gradient passes it, so that the parameters before it "
                                                      "cannot be trained: " +
                                                      names);
      }
    }
  }
  return {};
}

}  // namespace mangrove
