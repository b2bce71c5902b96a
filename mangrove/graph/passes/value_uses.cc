#include "mangrove/graph/passes/value_uses.h"

namespace mangrove {

ValueUses::ValueUses(const GraphParts& parts) : outputs_(parts.outputs.begin(), parts.outputs.end()) {
  for (const auto& [name, info] : parts.inputs) given_.insert(name);
  for (const auto& [name, tensor] : parts.initializers) given_.insert(name);
  names_ = given_;
  for (const Node& node : parts.nodes) {
    for (const std::string& input : node.inputs) ++counts_[input];
    names_.insert(node.outputs.begin(), node.outputs.end());
  }
}

int ValueUses::count(const std::string& value) const {
  const auto found = counts_.find(value);
  return found == counts_.end() ? 0 : found->second;
}

std::string ValueUses::unused_name(std::string stem) {
  while (!names_.insert(stem).second) stem += "_";
  return stem;
}

const std::string& Replacements::resolve(const std::string& value) const {
  const std::string* name = &value;
  for (auto found = instead_.find(*name); found != instead_.end(); found = instead_.find(*name)) name = &found->second;
  return *name;
}

void Replacements::apply(GraphParts& parts) const {
  for (Node& node : parts.nodes) {
    for (std::string& input : node.inputs) input = resolve(input);
  }
}

}  // namespace mangrove
