// What only moves or selects elements does so with bytes rather than with the floats dequantized from them, and what is
// quantized as it was before being dequantized is not touched: so that bytes stay bytes from one product to the next.
#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "mangrove/graph/node_check.h"
#include "mangrove/graph/passes/passes.h"
#include "mangrove/graph/passes/value_uses.h"

namespace mangrove::passes_detail {
namespace {

using Dequantizers = std::map<std::string, const Node*>;

/// Operators f with f(dequantized x) = dequantized f(x), for one scale.
bool moves_elements(const Node& node) {
  constexpr std::array kOperators{"Concat", "Flatten", "MaxPool", "Reshape", "Squeeze", "Transpose", "Unsqueeze"};
  return node.outputs.size() == 1 && std::find(kOperators.begin(), kOperators.end(), node.op) != kOperators.end();
}

/// The node that dequantizes bytes with one scale to this value; else null.
const Node* dequantizer(const Graph& graph, const Dequantizers& dequantizers, const std::string& value) {
  const auto found = dequantizers.find(value);
  if (found == dequantizers.end()) return nullptr;
  const Node& node = *found->second;
  const DType dtype = graph.value(node.inputs[0]).dtype;
  const bool one_scale = graph.value(node.inputs[1]).shape.elements() == 1;
  return one_scale && (dtype == DType::u8 || dtype == DType::i8) ? &node : nullptr;
}

std::string input_or_none(const Node& node, std::size_t i) {
  return i < node.inputs.size() ? node.inputs[i] : "";
}

/// One name, or equal constants.
bool same_number(const Graph& graph, const std::string& a, const std::string& b) {
  if (a == b) return true;
  const auto& constants = graph.initializers();
  const auto one = constants.find(a), other = constants.find(b);
  if (one == constants.end() || other == constants.end()) return false;
  const Tensor &x = one->second, &y = other->second;
  return x.dtype() == y.dtype() && x.elements() == 1 && y.elements() == 1 &&
         std::equal(x.data(), x.data() + x.bytes(), y.data());
}

/// Whether two nodes quantize or dequantize by the same scale and zero point, with the same type of bytes.
bool same_quantization(const Graph& graph, const Node& a, const Node& b) {
  return same_number(graph, a.inputs[1], b.inputs[1]) && same_number(graph, input_or_none(a, 2), input_or_none(b, 2));
}

/// How many of a node's inputs are data: all of a Concat.
std::size_t data_inputs(const Node& node) {
  return node.op == "Concat" ? node.inputs.size() : 1;
}

/// The node that dequantizes the first of a node's data, where all are dequantized alike; else null.
const Node* common_dequantizer(const Graph& graph, const Dequantizers& dequantizers, const Node& node) {
  const Node* first = dequantizer(graph, dequantizers, node.inputs[0]);
  for (std::size_t i = 1; first != nullptr && i < data_inputs(node); ++i) {
    const Node* other = dequantizer(graph, dequantizers, node.inputs[i]);
    const bool alike = other != nullptr && same_quantization(graph, *first, *other) &&
                       graph.value(other->inputs[0]).dtype == graph.value(first->inputs[0]).dtype;
    if (!alike) return nullptr;
  }
  return first;
}

/// Appends `node` working on bytes and a node that dequantizes its result.
void append_on_bytes(Node node, const Node& dequantizing, const Dequantizers& dequantizers, ValueUses& uses,
                     std::vector<Node>& kept) {
  Node after = dequantizing;
  const std::string result = node.outputs[0];
  node.outputs = {uses.unused_name(result + ".bytes")};
  for (std::size_t i = 0; i < data_inputs(node); ++i) node.inputs[i] = dequantizers.at(node.inputs[i])->inputs[0];
  after.name = node.name + ".dequantized";
  after.inputs[0] = node.outputs[0];
  after.outputs = {result};
  after.attributes.erase("axis");  // of one scale
  kept.push_back(std::move(node));
  kept.push_back(std::move(after));
}

}  // namespace

Result<Rewrite> keep_bytes(const Graph& graph, const PassContext&) {
  Rewrite rewrite{graph.parts(), {}};
  ValueUses uses(graph.parts());
  Replacements replacements;
  Dequantizers dequantizers;
  std::vector<Node> kept;
  for (const Node& node : graph.nodes()) {
    if (node.op == "DequantizeLinear") dequantizers[node.outputs[0]] = &node;
    const Node* before = dequantizer(graph, dequantizers, node.inputs.empty() ? "" : node.inputs[0]);
    if (before != nullptr && node.op == "QuantizeLinear" && same_quantization(graph, *before, node) &&
        graph.value(node.outputs[0]).dtype == graph.value(before->inputs[0]).dtype &&
        !uses.is_output(node.outputs[0])) {
      rewrite.notes.push_back(describe(node) + " gives back what " + describe(*before) + " reads");
      replacements.add(node.outputs[0], before->inputs[0]);
      continue;
    }
    if (before != nullptr && moves_elements(node)) {
      if (const Node* common = common_dequantizer(graph, dequantizers, node)) {
        rewrite.notes.push_back(describe(node) + " works on bytes, before " + describe(*common));
        append_on_bytes(node, *common, dequantizers, uses, kept);
        continue;
      }
    }
    kept.push_back(node);
  }
  rewrite.parts.nodes = std::move(kept);
  replacements.apply(rewrite.parts);
  return rewrite;
}

}  // namespace mangrove::passes_detail
