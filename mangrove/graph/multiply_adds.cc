#include "mangrove/graph/multiply_adds.h"

#include <algorithm>
#include <string_view>

#include "mangrove/graph/operator.h"

namespace mangrove {
namespace {

// Their cost rules count the products and nothing else, each multiply-add as 2 flops.
constexpr std::string_view kProducts[] = {"Conv",   "ConvInteger",   "ConvTranspose", "Gemm",
                                          "MatMul", "MatMulInteger", "QLinearConv",   "QLinearMatMul"};
constexpr std::string_view kRecurrent[] = {"GRU", "LSTM", "RNN"};

}  // namespace

std::int64_t multiply_adds(const Graph& graph, const Node& node, std::int64_t batch) {
  if (std::ranges::find(kProducts, node.op) != std::end(kProducts)) {
    return static_cast<std::int64_t>(node_cost(graph, node, batch).flops / 2);
  }
  if (std::ranges::find(kRecurrent, node.op) == std::end(kRecurrent)) return 0;
  // every step of every sequence [T, N, inputs] meets each weight of W and R once
  const Shape sequences = graph.value(node.inputs[0]).shape.with_batch(batch);
  const std::int64_t weights =
      graph.value(node.inputs[1]).shape.elements() + graph.value(node.inputs[2]).shape.elements();
  return sequences.elements(0, 2) * weights;
}

std::int64_t multiply_adds(const Graph& graph, std::int64_t batch) {
  std::int64_t total = 0;
  for (const Node& node : graph.nodes()) total += multiply_adds(graph, node, batch);
  return total;
}

}  // namespace mangrove
