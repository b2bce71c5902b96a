#include "mangrove/learn/trainable.h"

#include <algorithm>

#include "mangrove/learn/replica.h"

namespace mangrove::learn {

Status check_trainable(const Graph& graph) {
  MG_RETURN_IF_ERROR(check_classifier(graph));
  if (graph.parameter_elements() > 0) return {};
  const auto is_quantized = [](const Node& node) { return node.op == "DequantizeLinear"; };
  const bool was_quantized = std::any_of(graph.nodes().begin(), graph.nodes().end(), is_quantized);
  return make_error(Code::invalid_argument,
                    "graph '" + graph.name() + "' has no parameters that could be trained" +
                        (was_quantized ? ": its weights are quantized; train the network that it was made from" : ""));
}

}  // namespace mangrove::learn
