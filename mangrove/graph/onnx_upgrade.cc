#include "mangrove/graph/onnx_upgrade.h"

#include <set>
#include <string>

#include "mangrove/graph/node_check.h"
#include "mangrove/graph/operator.h"

namespace mangrove {
namespace {

std::set<std::string> values_read(const GraphParts& parts) {
  std::set<std::string> read(parts.outputs.begin(), parts.outputs.end());
  for (const Node& node : parts.nodes) read.insert(node.inputs.begin(), node.inputs.end());
  return read;
}

Status drop_unread_outputs(Node& node, const std::set<std::string>& read) {
  const Operator* row = find_operator(node.op);
  while (row != nullptr && node.outputs.size() > row->max_outputs) {
    if (read.contains(node.outputs.back())) {
      return make_error(Code::unimplemented, describe(node) + ": output " + std::to_string(node.outputs.size() - 1) +
                                                 " ('" + node.outputs.back() + "') is not supported");
    }
    node.outputs.pop_back();
  }
  return {};
}

void ratio_to_input(Node& node, GraphParts& parts) {
  const auto ratio = node.attributes.find("ratio");
  if (ratio == node.attributes.end() || !std::holds_alternative<float>(ratio->second) || node.inputs.size() != 1)
    return;
  // A name already in use is left to Graph::create to report.
  std::string name = node.name + ".ratio";
  const Tensor value = Tensor::of<float>(Shape{}, {std::get<float>(ratio->second)});
  if (!parts.initializers.emplace(name, value).second) return;
  node.inputs.push_back(std::move(name));
  node.attributes.erase(ratio);
}

}  // namespace

Status upgrade_opset(GraphParts& parts, std::int64_t from) {
  const std::set<std::string> read = values_read(parts);
  for (Node& node : parts.nodes) {
    MG_RETURN_IF_ERROR(drop_unread_outputs(node, read));
    if (from < 13 && node.op == "Softmax") node.attributes.try_emplace("axis", std::int64_t{1});
    if (from < 12 && node.op == "Dropout") ratio_to_input(node, parts);
  }
  return {};
}

}  // namespace mangrove
