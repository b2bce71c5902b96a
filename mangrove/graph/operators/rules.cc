#include "mangrove/graph/operators/rules.h"

#include <algorithm>
#include <string>
#include <utility>

#include "mangrove/graph/broadcast.h"

namespace mangrove::rows {
namespace {

Bytes bytes_of(const ValueInfo& info) {
  return info.shape.elements() * static_cast<Bytes>(size_of(info.dtype));
}

}  // namespace

Status check_floating(const OperatorInputs& inputs, std::initializer_list<std::size_t> positions) {
  const ValueInfo* first = nullptr;
  for (const std::size_t position : positions) {
    const ValueInfo* info = optional_input(inputs, position);
    if (info == nullptr) continue;
    if (info->dtype != DType::f32 && info->dtype != DType::f64) {
      return make_error(Code::unimplemented, "input " + std::to_string(position) + " has type " +
                                                 dtype_name(info->dtype) + ", expected f32 or f64");
    }
    if (first == nullptr) first = info;
    if (info->dtype != first->dtype) {
      return make_error(Code::invalid_argument, std::string("inputs have types ") + dtype_name(first->dtype) + " and " +
                                                    dtype_name(info->dtype) + ", expected the same");
    }
  }
  return {};
}

Status check_types(const OperatorInputs& inputs, std::initializer_list<DType> allowed) {
  const ValueInfo* first = nullptr;
  for (std::size_t i = 0; i < inputs.values.size(); ++i) {
    const ValueInfo* info = inputs.values[i];
    if (info == nullptr) continue;
    if (std::find(allowed.begin(), allowed.end(), info->dtype) == allowed.end()) {
      std::string names;
      for (const DType type : allowed) names += std::string(names.empty() ? "" : ", ") + dtype_name(type);
      return make_error(Code::unimplemented, "input " + std::to_string(i) + " has type " + dtype_name(info->dtype) +
                                                 ", expected one of " + names);
    }
    if (first == nullptr) first = info;
    if (info->dtype != first->dtype) {
      return make_error(Code::invalid_argument, std::string("inputs have types ") + dtype_name(first->dtype) + " and " +
                                                    dtype_name(info->dtype) + ", expected the same");
    }
  }
  return {};
}

Status check_constant_scalar(const OperatorInputs& inputs, std::size_t position, const std::string& what) {
  const Tensor* constant = inputs.constants[position];
  if (constant == nullptr) return make_error(Code::unimplemented, what + " must be a constant");
  if (constant->elements() != 1) {
    return make_error(Code::invalid_argument,
                      what + " has shape " + to_string(constant->shape()) + ", expected one element");
  }
  return {};
}

Result<Shape> broadcast_inputs(const OperatorInputs& inputs) {
  Shape shape;
  for (const ValueInfo* input : inputs.values) {
    if (input == nullptr) return make_error(Code::invalid_argument, "an input is left out, but none is optional");
    MG_TRY(shape, broadcast(shape, input->shape));
  }
  return shape;
}

const ValueInfo* optional_input(const OperatorInputs& inputs, std::size_t position) {
  return position < inputs.values.size() ? inputs.values[position] : nullptr;
}

OperatorCost traffic(const OperatorInputs& inputs, std::span<const ValueInfo> outputs,
                     std::initializer_list<std::size_t> parameters) {
  OperatorCost cost;
  for (const ValueInfo* info : inputs.values) {
    if (info != nullptr) cost.read += bytes_of(*info);
  }
  for (const ValueInfo& info : outputs) cost.written += bytes_of(info);
  for (const std::size_t position : parameters) {
    if (position < inputs.constants.size() && inputs.constants[position] != nullptr) {
      cost.parameters += inputs.constants[position]->bytes();
    }
  }
  return cost;
}

OperatorCost elementwise_cost(const OperatorInputs& inputs, std::span<const ValueInfo> outputs,
                              double flops_per_element, std::initializer_list<std::size_t> parameters) {
  OperatorCost cost = traffic(inputs, outputs, parameters);
  cost.flops = flops_per_element * static_cast<double>(outputs[0].shape.elements());
  return cost;
}

Operator moving_operator(std::string_view type, std::size_t min_inputs, std::size_t max_inputs,
                         std::vector<Operator::AttributeRule> attributes) {
  return {.type = type,
          .min_inputs = min_inputs,
          .max_inputs = max_inputs,
          .min_outputs = 1,
          .max_outputs = 1,
          .attributes = std::move(attributes),
          .parameters = {},
          .infer = {},
          .cost = [](const Node&, const OperatorInputs& inputs, std::span<const ValueInfo> outputs) {
            return traffic(inputs, outputs);
          }};
}

}  // namespace mangrove::rows
