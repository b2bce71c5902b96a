#include "mangrove/graph/operators/rules.h"

#include <string>

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

}  // namespace mangrove::rows
