#include "mangrove/graph/node_inference.h"

#include <algorithm>
#include <set>

#include "mangrove/base/check.h"
#include "mangrove/graph/node_check.h"

namespace mangrove {
namespace {

// A value of more elements is refused, so that sizes in bytes times any batch in use stay within 64 bits.
constexpr std::int64_t kMostElements = std::int64_t{1} << 40;

constexpr std::size_t kMostDimensions = 64;

Status check_shape(const Shape& shape, std::int64_t least) {
  if (shape.rank() > kMostDimensions)
    return make_error(Code::invalid_argument, "it has " + std::to_string(shape.rank()) + " dimensions, the most is " +
                                                  std::to_string(kMostDimensions));
  if (std::count_if(shape.begin(), shape.end(), [](std::int64_t dim) { return dim < 0; }) > 1) {
    return make_error(Code::unimplemented,
                      "shape " + to_string(shape) + " has the batch in several dimensions, expected at most one");
  }
  std::int64_t elements = shape.batches();
  if (elements > kMostBatches) return make_error(Code::invalid_argument, "it has too many times the batch");
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    if (shape[i] < 0) continue;
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

Status define_value(Values& values, const std::string& name, ValueInfo info) {
  if (name.empty()) return make_error(Code::invalid_argument, "a value has no name");
  if (!values.emplace(name, std::move(info)).second) {
    return make_error(Code::invalid_argument, "value '" + name + "' is defined twice");
  }
  return {};
}

}  // namespace

Result<Values> given_values(const GraphParts& parts) {
  Values values;
  for (const auto& [name, info] : parts.inputs) {
    MG_RETURN_IF_ERROR(check_shape(info.shape, 1).context("input '" + name + "'"));
    MG_RETURN_IF_ERROR(define_value(values, name, info));
  }
  for (const auto& [name, tensor] : parts.initializers) {
    MG_RETURN_IF_ERROR(check_shape(tensor.shape(), 0).context("initializer '" + name + "'"));
    MG_RETURN_IF_ERROR(define_value(values, name, {tensor.dtype(), tensor.shape()}));
  }
  return values;
}

Status check_names(const GraphParts& parts, const Values& given) {
  std::set<std::string> node_names;
  std::set<std::string> made;
  for (const Node& node : parts.nodes) {
    if (node.name.empty()) return make_error(Code::invalid_argument, "a node (" + node.op + ") has no name");
    if (!node_names.insert(node.name).second) {
      return make_error(Code::invalid_argument, "two nodes have the name '" + node.name + "'");
    }
    for (const std::string& output : node.outputs) {
      if (output.empty()) continue;  // an optional one left out
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
    if (node.outputs[i].empty()) continue;
    MG_RETURN_IF_ERROR(check_shape(outputs[i].shape, 0).context(describe(node) + ": output '" + node.outputs[i] + "'"));
    MG_RETURN_IF_ERROR(define_value(values, node.outputs[i], std::move(outputs[i])));
  }
  return {};
}

}  // namespace mangrove
