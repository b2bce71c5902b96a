#include <algorithm>
#include <set>
#include <string>

#include "mangrove/graph/graph.h"

namespace mangrove {
namespace {

// Values that someone outside nodes [first, last) reads, and the graph's outputs.
std::set<std::string> used_outside(const GraphParts& parts, std::size_t first, std::size_t last) {
  std::set<std::string> used(parts.outputs.begin(), parts.outputs.end());
  for (std::size_t i = 0; i < parts.nodes.size(); ++i) {
    if (i >= first && i < last) continue;
    used.insert(parts.nodes[i].inputs.begin(), parts.nodes[i].inputs.end());
  }
  return used;
}

}  // namespace

Result<Graph> Graph::slice(std::size_t first, std::size_t last) const {
  const std::string range = "[" + std::to_string(first) + ", " + std::to_string(last) + ")";
  if (first > last || last > nodes().size()) {
    return make_error(Code::out_of_range, "slice " + range + " of graph '" + name() + "', which has " +
                                              std::to_string(nodes().size()) + " nodes");
  }
  if (first == last) {
    return make_error(Code::invalid_argument, "slice " + range + " of graph '" + name() + "' is empty");
  }
  GraphParts stage;
  stage.name = name() + range;
  stage.metadata = metadata();
  const std::set<std::string> wanted = used_outside(parts_, first, last);
  std::set<std::string> inside;  // made in the stage, or already one of its inputs
  for (std::size_t i = first; i < last; ++i) {
    const Node& node = nodes()[i];
    for (const std::string& input : node.inputs) {
      if (input.empty()) continue;
      if (const auto constant = initializers().find(input); constant != initializers().end()) {
        stage.initializers.insert(*constant);
      } else if (inside.insert(input).second) {
        stage.inputs.emplace_back(input, value(input));
      }
    }
    for (const std::string& output : node.outputs) {
      if (output.empty()) continue;
      inside.insert(output);
      if (wanted.contains(output)) stage.outputs.push_back(output);
    }
    stage.nodes.push_back(node);
  }
  return create(std::move(stage));
}

}  // namespace mangrove
