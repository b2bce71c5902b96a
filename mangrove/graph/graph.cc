#include "mangrove/graph/graph.h"

#include <algorithm>
#include <set>

#include "mangrove/base/check.h"
#include "mangrove/base/nearest.h"
#include "mangrove/graph/node_check.h"
#include "mangrove/graph/operator.h"
#include "mangrove/graph/topological_sort.h"

namespace mangrove {
namespace {

using Values = std::map<std::string, ValueInfo>;

// A value of more elements is refused, so that sizes in bytes times any batch in use stay within 64 bits.
constexpr std::int64_t kMostElements = std::int64_t{1} << 40;

Status check_shape(const Shape& shape, std::int64_t least) {
  if (std::count(shape.begin(), shape.end(), kBatch) > 1) {
    return make_error(Code::unimplemented,
                      "shape " + to_string(shape) + " has the batch in several dimensions, expected at most one");
  }
  std::int64_t elements = 1;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    if (i == shape.batch_axis()) continue;
    if (shape[i] < least) {
      return make_error(Code::invalid_argument, "dimension " + std::to_string(i) + " of shape " + to_string(shape) +
                                                    " is " + std::to_string(shape[i]) + ", expected at least " +
                                                    std::to_string(least));
    }
    if (shape[i] > 0 && elements > kMostElements / shape[i]) {
      return make_error(Code::invalid_argument, "shape " + to_string(shape) + " has too many elements");
    }
    elements *= shape[i];
  }
  return {};
}

Status define(Values& values, const std::string& name, ValueInfo info) {
  if (name.empty()) return make_error(Code::invalid_argument, "a value has no name");
  if (!values.emplace(name, std::move(info)).second) {
    return make_error(Code::invalid_argument, "value '" + name + "' is defined twice");
  }
  return {};
}

Result<Values> given_values(const GraphParts& parts) {
  Values values;
  for (const auto& [name, info] : parts.inputs) {
    MG_RETURN_IF_ERROR(check_shape(info.shape, 1).context("input '" + name + "'"));
    MG_RETURN_IF_ERROR(define(values, name, info));
  }
  for (const auto& [name, tensor] : parts.initializers) {
    MG_RETURN_IF_ERROR(define(values, name, {tensor.dtype(), tensor.shape()}));
  }
  return values;
}

// Names only: every value is made once, and every value that is used is made somewhere.
Status check_names(const GraphParts& parts, const Values& given) {
  std::set<std::string> node_names;
  std::set<std::string> made;
  for (const Node& node : parts.nodes) {
    if (node.name.empty()) return make_error(Code::invalid_argument, "a node (" + node.op + ") has no name");
    if (!node_names.insert(node.name).second) {
      return make_error(Code::invalid_argument, "two nodes have the name '" + node.name + "'");
    }
    for (const std::string& output : node.outputs) {
      if (output.empty()) return make_error(Code::invalid_argument, describe(node) + ": an output has no name");
      if (given.contains(output) || !made.insert(output).second) {
        return make_error(Code::invalid_argument, describe(node) + ": value '" + output + "' is defined twice");
      }
    }
  }
  for (const Node& node : parts.nodes) {
    for (const std::string& input : node.inputs) {
      if (input.empty() || given.contains(input) || made.contains(input)) continue;
      return make_error(Code::invalid_argument, describe(node) + ": input '" + input + "' is not defined");
    }
  }
  return {};
}

OperatorInputs inputs_of(const Node& node, const Values& values, const std::map<std::string, Tensor>& initializers) {
  OperatorInputs inputs;
  for (const std::string& input : node.inputs) {
    const auto value = values.find(input);
    inputs.values.push_back(value == values.end() ? nullptr : &value->second);
    const auto constant = initializers.find(input);
    inputs.constants.push_back(constant == initializers.end() ? nullptr : &constant->second);
  }
  return inputs;
}

Status infer_node(const Node& node, const std::map<std::string, Tensor>& initializers, Values& values) {
  MG_TRY(const Operator* row, check_node(node));
  MG_TRY(std::vector<ValueInfo> outputs,
         row->infer(node, inputs_of(node, values, initializers)).context(describe(node)));
  MG_CHECK(outputs.size() >= node.outputs.size());
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    MG_RETURN_IF_ERROR(check_shape(outputs[i].shape, 0).context(describe(node) + ": output '" + node.outputs[i] + "'"));
    MG_RETURN_IF_ERROR(define(values, node.outputs[i], std::move(outputs[i])));
  }
  return {};
}

Status check_outputs(const GraphParts& parts, const Values& values) {
  if (parts.outputs.empty()) return make_error(Code::invalid_argument, "graph '" + parts.name + "' has no outputs");
  std::set<std::string> seen;
  for (const std::string& output : parts.outputs) {
    if (!values.contains(output)) {
      std::vector<std::string> known;
      for (const auto& [name, info] : values) known.push_back(name);
      const std::string closest = nearest(output, known);
      return make_error(Code::invalid_argument, "graph output '" + output + "' is not defined" +
                                                    (closest.empty() ? "" : "; did you mean '" + closest + "'?"));
    }
    if (!seen.insert(output).second) {
      return make_error(Code::invalid_argument, "graph output '" + output + "' is listed twice");
    }
  }
  return {};
}

bool is_floating(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f64;
}

// Floating-point initializers at these positions of each node's inputs, in node order.
std::vector<std::string> initializers_at(const Graph& graph, std::vector<std::size_t> Operator::*positions) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const Node& node : graph.nodes()) {
    for (const std::size_t position : find_operator(node.op)->*positions) {
      if (position >= node.inputs.size()) continue;
      const std::string& input = node.inputs[position];
      const auto found = graph.initializers().find(input);
      if (found == graph.initializers().end() || !is_floating(found->second.dtype())) continue;
      if (seen.insert(input).second) names.push_back(input);
    }
  }
  return names;
}

}  // namespace

Result<Graph> Graph::create(GraphParts parts) {
  Graph graph;
  MG_TRY(graph.values_, given_values(parts));
  MG_RETURN_IF_ERROR(check_names(parts, graph.values_));
  MG_TRY(parts.nodes, topological_sort(std::move(parts.nodes)));
  for (const Node& node : parts.nodes) MG_RETURN_IF_ERROR(infer_node(node, parts.initializers, graph.values_));
  MG_RETURN_IF_ERROR(check_outputs(parts, graph.values_));
  graph.parts_ = std::move(parts);
  return graph;
}

const ValueInfo& Graph::value(const std::string& name) const {
  const auto found = values_.find(name);
  MG_CHECK_MSG(found != values_.end(), "no value '" + name + "' in graph '" + parts_.name + "'");
  return found->second;
}

std::vector<std::string> Graph::parameters() const {
  return initializers_at(*this, &Operator::parameters);
}

std::vector<std::string> Graph::states() const {
  return initializers_at(*this, &Operator::states);
}

std::int64_t Graph::parameter_elements() const {
  std::int64_t elements = 0;
  for (const std::string& name : parameters()) elements += value(name).shape.elements();
  return elements;
}

Result<Graph> Graph::with_initializers(const std::map<std::string, Tensor>& replaced) const {
  GraphParts parts = parts_;
  for (const auto& [name, tensor] : replaced) {
    const auto found = parts.initializers.find(name);
    if (found == parts.initializers.end()) {
      return make_error(Code::not_found, "graph '" + parts_.name + "' has no initializer '" + name + "'");
    }
    const Tensor& old = found->second;
    if (tensor.dtype() != old.dtype() || tensor.shape() != old.shape()) {
      return make_error(Code::invalid_argument, "initializer '" + name + "' is " + dtype_name(tensor.dtype()) + " " +
                                                    to_string(tensor.shape()) + ", expected " +
                                                    dtype_name(old.dtype()) + " " + to_string(old.shape()));
    }
    found->second = tensor;
  }
  return create(std::move(parts));
}

OperatorCost node_cost(const Graph& graph, const Node& node, std::int64_t batch) {
  Values bound;
  for (const auto* names : {&node.inputs, &node.outputs}) {
    for (const std::string& name : *names) {
      if (name.empty()) continue;
      const ValueInfo& info = graph.value(name);
      bound[name] = {info.dtype, info.shape.with_batch(batch)};
    }
  }
  std::vector<ValueInfo> outputs;
  for (const std::string& output : node.outputs) outputs.push_back(bound.at(output));
  return find_operator(node.op)->cost(node, inputs_of(node, bound, graph.initializers()), outputs);
}

}  // namespace mangrove
