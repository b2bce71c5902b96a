#include "mangrove/graph/recurrent_geometry.h"

#include <string>
#include <vector>

namespace mangrove {
namespace {

using Names = std::vector<std::string>;

std::int64_t gates_of(const Node& node) {
  return node.op == "LSTM" ? 4 : node.op == "GRU" ? 3 : 1;
}

Status resolve_direction(const Node& node, RecurrentGeometry& geometry) {
  const std::string direction = node.string_or("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    return make_error(Code::invalid_argument,
                      "attribute direction is '" + direction + "', expected forward, reverse or bidirectional");
  }
  geometry.directions = direction == "bidirectional" ? 2 : 1;
  geometry.starts_reversed = direction == "reverse";
  return {};
}

// Each direction's: the default ones, or for an RNN Tanh or Relu.
Status resolve_activations(const Node& node, RecurrentGeometry& geometry) {
  const Names usual = node.op == "LSTM"  ? Names{"Sigmoid", "Tanh", "Tanh"}
                      : node.op == "GRU" ? Names{"Sigmoid", "Tanh"}
                                         : Names{"Tanh"};
  Names given = node.strings_or("activations", {});
  if (given.empty()) return {};
  if (given.size() != usual.size() * static_cast<std::size_t>(geometry.directions)) {
    return make_error(Code::invalid_argument, "attribute activations has " + std::to_string(given.size()) +
                                                  " names, expected " + std::to_string(usual.size()) +
                                                  " per direction");
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i] == usual[i % usual.size()]) continue;
    if (node.op == "RNN" && given[i] == "Relu") {
      geometry.relu[i] = true;
      continue;
    }
    return make_error(Code::unimplemented,
                      "activation '" + given[i] + "' is not supported, expected " + usual[i % usual.size()]);
  }
  return {};
}

Status check_unsupported(const Node& node) {
  for (const char* key : {"activation_alpha", "activation_beta", "clip"}) {
    if (node.attributes.contains(key)) {
      return make_error(Code::unimplemented, std::string("attribute ") + key + " is not supported");
    }
  }
  if (node.int_or("input_forget", 0) != 0) {
    return make_error(Code::unimplemented, "attribute input_forget is not supported: the gates are not coupled");
  }
  return {};
}

}  // namespace

Result<RecurrentGeometry> recurrent_geometry(const Node& node, const Shape& x, const Shape& weights) {
  RecurrentGeometry geometry;
  geometry.gates = gates_of(node);
  MG_RETURN_IF_ERROR(check_unsupported(node));
  MG_RETURN_IF_ERROR(resolve_direction(node, geometry));
  MG_RETURN_IF_ERROR(resolve_activations(node, geometry));
  geometry.batch_first = node.int_or("layout", 0) != 0;
  geometry.linear_before_reset = node.int_or("linear_before_reset", 0) != 0;
  const std::size_t time = geometry.batch_first ? 1 : 0;
  if (x.rank() != 3 || x.symbolic_axis().value_or(1 - time) != 1 - time) {
    return make_error(Code::invalid_argument, "input has shape " + to_string(x) + ", expected " +
                                                  (geometry.batch_first ? "[N, T, inputs]" : "[T, N, inputs]"));
  }
  geometry.steps = x[time];
  geometry.batch = x[1 - time];
  geometry.inputs = x[2];
  if (weights.rank() != 3 || weights.is_symbolic() || weights[0] != geometry.directions || weights[1] < 1 ||
      weights[1] % geometry.gates != 0 || weights[2] != geometry.inputs || geometry.steps < 1) {
    return make_error(Code::invalid_argument, "weights have shape " + to_string(weights) + ", expected [" +
                                                  std::to_string(geometry.directions) + ", " +
                                                  std::to_string(geometry.gates) + " x hidden, " +
                                                  std::to_string(geometry.inputs) + "] for input " + to_string(x));
  }
  geometry.hidden = weights[1] / geometry.gates;
  if (const std::int64_t declared = node.int_or("hidden_size", geometry.hidden); declared != geometry.hidden) {
    return make_error(Code::invalid_argument, "attribute hidden_size is " + std::to_string(declared) +
                                                  ", but weights have shape " + to_string(weights));
  }
  return geometry;
}

}  // namespace mangrove
