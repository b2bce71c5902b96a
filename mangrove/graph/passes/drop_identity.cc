// Takes out nodes that only hand on their input: Identity, and in inference Dropout.
#include "mangrove/graph/node_check.h"
#include "mangrove/graph/passes/passes.h"
#include "mangrove/graph/passes/value_uses.h"

namespace mangrove::passes_detail {
namespace {

// In training an Identity of a parameter stays: the node behind it would train the parameter, as Identity does not.
bool hands_on(const Node& node, const Graph& graph, const PassContext& context) {
  if (node.outputs.size() != 1) return false;  // also a Dropout's mask
  if (node.op == "Dropout") return !context.training;
  if (node.op != "Identity") return false;
  return !context.training || !graph.initializers().contains(node.inputs[0]);
}

}  // namespace

Result<Rewrite> drop_identity(const Graph& graph, const PassContext& context) {
  Rewrite rewrite{graph.parts(), {}};
  const ValueUses uses(graph.parts());
  Replacements replacements;
  std::map<std::string, std::string> renamed;  // values that a graph output gives its name
  std::vector<Node> kept;
  for (const Node& node : graph.nodes()) {
    const std::string input = node.inputs.empty() ? "" : replacements.resolve(node.inputs[0]);
    if (!hands_on(node, graph, context)) {
      kept.push_back(node);
      continue;
    }
    const std::string& output = node.outputs[0];
    if (!uses.is_output(output)) {
      replacements.add(output, input);
    } else if (!uses.is_given(input) && !uses.is_output(input)) {
      replacements.add(input, output);
      renamed[input] = output;
    } else {
      kept.push_back(node);
      continue;
    }
    rewrite.notes.push_back(describe(node) + " is dropped");
  }
  rewrite.parts.nodes = std::move(kept);
  replacements.apply(rewrite.parts);
  for (Node& node : rewrite.parts.nodes) {
    for (std::string& output : node.outputs) {
      if (const auto found = renamed.find(output); found != renamed.end()) output = found->second;
    }
  }
  return rewrite;
}

}  // namespace mangrove::passes_detail
