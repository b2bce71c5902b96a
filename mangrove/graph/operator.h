#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/base/units.h"
#include "mangrove/graph/graph.h"

namespace mangrove {

/// What a shape or cost rule sees. Inputs left out are null; constants are null where an input is not an initializer.
struct OperatorInputs {
  std::vector<const ValueInfo*> values;
  std::vector<const Tensor*> constants;
};

/// What one execution of a node costs, forward.
struct OperatorCost {
  double flops = 0;   // a multiply-add counts 2
  Bytes read = 0;     // of inputs and parameters
  Bytes written = 0;  // of outputs
  Bytes parameters = 0;
};

/// Everything the rest of the system must know about an operator: one row of the table in operator_table.cc.
struct Operator {
  enum class AttributeKind { integer, real, string, integers, reals, tensor, strings };
  struct AttributeRule {
    std::string_view name;
    AttributeKind kind;
  };

  std::string_view type;  // "Conv"
  std::size_t min_inputs;
  std::size_t max_inputs;
  std::size_t min_outputs;
  std::size_t max_outputs;
  std::vector<AttributeRule> attributes;    // all that are known; others are errors
  std::vector<std::size_t> parameters;      // positions of inputs that training changes when they are initializers
  std::vector<std::size_t> states = {};     // positions of inputs that a training forward pass updates when they are
                                            // initializers (running statistics); never by gradient
  std::vector<std::size_t> constants = {};  // positions of inputs whose values must be known when a graph is made
                                            // (axes, k, limits); a node that computes one must fold away
  bool differentiable = true;               // false: no gradient flows through it (comparisons, indices, integers)
  bool activation = false;     // one input, one output, elementwise, derivative computable from the output:
                               // may be fused into the node before it
  bool mixes_samples = false;  // what it computes of a sample may depend on others of the batch, although its shape
                               // rule takes a symbolic batch: keeps open_batch from opening a file with a batch of 1

  /// Types and shapes of the outputs, from those of the inputs. The error's message says what does not fit, with both
  /// shapes (the caller puts the node's name in front).
  std::function<Result<std::vector<ValueInfo>>(const Node&, const OperatorInputs&)> infer;

  /// Cost with every shape bound (no symbolic dimension).
  std::function<OperatorCost(const Node&, const OperatorInputs&, std::span<const ValueInfo> outputs)> cost;
};

/// The table, sorted by type.
std::span<const Operator> operators();
/// Null for an operator that is not in the table.
const Operator* find_operator(std::string_view type);

/// Cost of one node of a graph at this batch size.
OperatorCost node_cost(const Graph& graph, const Node& node, std::int64_t batch);

}  // namespace mangrove
