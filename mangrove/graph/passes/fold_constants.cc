// Nodes all of whose inputs are constants are computed once, and their results become initializers.
#include <algorithm>
#include <optional>
#include <set>

#include "mangrove/graph/node_check.h"
#include "mangrove/graph/operator.h"
#include "mangrove/graph/passes/passes.h"

namespace mangrove::passes_detail {
namespace {

// What folding may add to a model: a node that makes much from little (ConstantOfShape, Expand) stays.
constexpr Bytes kMostAddedBytes = MiB(1);

using Names = std::set<std::string>;

Bytes bytes_of(const ValueInfo& info) {
  return info.shape.elements() * static_cast<Bytes>(size_of(info.dtype));
}

// How many bytes larger a constant result is than its inputs. Nothing: its size is not known.
std::optional<Bytes> added_bytes(const Graph& graph, const Node& node) {
  Bytes added = 0;
  for (const std::string& output : node.outputs) {
    if (output.empty()) continue;
    if (graph.value(output).shape.is_symbolic()) return std::nullopt;
    added += bytes_of(graph.value(output));
  }
  for (const std::string& input : node.inputs) {
    if (!input.empty()) added -= bytes_of(graph.value(input));
  }
  return added;
}

// Results of DequantizeLinear that a product of dequantized values reads: a kernel multiplies the bytes themselves.
Names factors_of_bytes(const Graph& graph) {
  Names dequantized, factors;
  for (const Node& node : graph.nodes()) {
    if (node.op == "DequantizeLinear") dequantized.insert(node.outputs[0]);
    const bool is_product = node.op == "Conv" || node.op == "Gemm" || node.op == "MatMul";
    if (!is_product || !dequantized.contains(node.inputs[0])) continue;
    for (const std::string& input : node.inputs) {
      if (dequantized.contains(input)) factors.insert(input);
    }
  }
  return factors;
}

// `trained`: initializers that must stay as they are. `factors`: results that must stay computed.
bool may_fold(const Graph& graph, const Node& node, const GraphParts& parts, const Names& trained, const Names& factors,
              const PassContext& context) {
  if (factors.contains(node.outputs[0])) return false;
  for (const std::string& input : node.inputs) {
    if (!input.empty() && (!parts.initializers.contains(input) || trained.contains(input))) return false;
  }
  const bool is_output = std::any_of(node.outputs.begin(), node.outputs.end(), [&](const std::string& output) {
    return std::find(graph.outputs().begin(), graph.outputs().end(), output) != graph.outputs().end();
  });
  const std::optional<Bytes> added = added_bytes(graph, node);
  return !is_output && added && *added <= std::min(kMostAddedBytes, *context.may_add);
}

Result<std::vector<Tensor>> results_of(const Node& node, const GraphParts& parts, const PassContext& context) {
  std::vector<Tensor> inputs;
  for (const std::string& input : node.inputs)
    inputs.push_back(input.empty() ? Tensor() : parts.initializers.at(input));
  return context.evaluate(node, inputs).context(describe(node));
}

// In training all reals: what is trained must stay, and a number must not become an initializer where a parameter is.
Names trained_values(const Graph& graph, const PassContext& context) {
  Names trained;
  if (!context.training) return trained;
  for (const auto& [name, tensor] : graph.initializers()) {
    if (tensor.dtype() == DType::f32 || tensor.dtype() == DType::f64) trained.insert(name);
  }
  return trained;
}

}  // namespace

Result<Rewrite> fold_constants(const Graph& graph, const PassContext& context) {
  Rewrite rewrite{graph.parts(), {}};
  const Names trained = trained_values(graph, context);
  const Names factors = factors_of_bytes(graph);
  std::vector<Node> kept;
  for (const Node& node : graph.nodes()) {
    if (!may_fold(graph, node, rewrite.parts, trained, factors, context)) {
      kept.push_back(node);
      continue;
    }
    *context.may_add -= std::max<Bytes>(0, added_bytes(graph, node).value_or(0));
    MG_TRY(const std::vector<Tensor> results, results_of(node, rewrite.parts, context));
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (!node.outputs[i].empty()) rewrite.parts.initializers.insert_or_assign(node.outputs[i], results[i]);
    }
    rewrite.notes.push_back(describe(node) + " is computed once: its inputs are constants");
  }
  rewrite.parts.nodes = std::move(kept);
  return rewrite;
}

}  // namespace mangrove::passes_detail
