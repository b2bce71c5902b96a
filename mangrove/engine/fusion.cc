#include "mangrove/engine/fusion.h"

#include <algorithm>

namespace mangrove {

Fusion::Fusion(const Graph& graph, const Backend& backend, const KernelRequests& requests)
    : graph_(graph), backend_(backend), requests_(requests) {
  for (const Node& node : graph.nodes()) {
    for (const std::string& input : node.inputs) {
      if (!input.empty()) consumers_[input].push_back(&node);
    }
  }
}

/// The node that alone uses the only output of `node`, once; else null.
const Node* Fusion::follower(const Node& node) const {
  const auto is_used = [](const std::string& output) { return !output.empty(); };
  if (std::count_if(node.outputs.begin(), node.outputs.end(), is_used) != 1 || node.outputs[0].empty()) return nullptr;
  const std::string& result = node.outputs[0];
  if (std::find(graph_.outputs().begin(), graph_.outputs().end(), result) != graph_.outputs().end()) return nullptr;
  return has_one_use(result) ? consumers_.at(result)[0] : nullptr;
}

bool Fusion::has_one_use(const std::string& value) const {
  const auto consumers = consumers_.find(value);
  return consumers != consumers_.end() && consumers->second.size() == 1;
}

bool Fusion::has_inputs(const Node& node, const std::string& result) const {
  return std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](const std::string& input) { return input == result || requests_.is_made(input); });
}

std::vector<const Node*> Fusion::epilogue_of(const Node& node, Reading reading) const {
  std::vector<const Node*> epilogue;
  const Node* last = &node;
  for (const Node* next = follower(node); next != nullptr; next = follower(*next)) {
    if (next->outputs.size() != 1 || !has_inputs(*next, last->outputs[0])) break;
    epilogue.push_back(next);
    if (!backend_.fuses(requests_.make(node, epilogue, reading))) {
      epilogue.pop_back();
      break;
    }
    last = next;
  }
  const auto supported = [&](const KernelRequest& request) {
    return reading == Reading::dequantized ? backend_.supports_dequantized(request) : backend_.supports(request);
  };
  while (!epilogue.empty() && !supported(requests_.make(node, epilogue, reading))) epilogue.pop_back();
  return epilogue;
}

}  // namespace mangrove
