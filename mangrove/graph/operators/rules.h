#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/graph/operator.h"

/// What the shape and cost rules of several operators share.
namespace mangrove::rows {

/// Flops of one exponential: a polynomial of degree 6 after range reduction.
constexpr double kExponentialFlops = 8;

/// f32 or f64, and the same type for all inputs that are present at these positions.
Status check_floating(const OperatorInputs& inputs, std::initializer_list<std::size_t> positions);

/// One of these types, and the same for all inputs that are present.
Status check_types(const OperatorInputs& inputs, std::initializer_list<DType> allowed);

/// The input at this position is a constant with one element. `what`: "k (input 1)".
/// errors: unimplemented (not a constant), invalid_argument (another number of elements).
Status check_constant_scalar(const OperatorInputs& inputs, std::size_t position, const std::string& what);

/// The shape that all inputs broadcast to, as numpy does. errors: invalid_argument (also: one is left out).
Result<Shape> broadcast_inputs(const OperatorInputs& inputs);

/// The input at this position, or null where it was left out.
const ValueInfo* optional_input(const OperatorInputs& inputs, std::size_t position);

/// Bytes of all inputs and outputs, and of the parameters: constants at these positions.
OperatorCost traffic(const OperatorInputs& inputs, std::span<const ValueInfo> outputs,
                     std::initializer_list<std::size_t> parameters = {});

/// The same with a number of flops per element of output 0.
OperatorCost elementwise_cost(const OperatorInputs& inputs, std::span<const ValueInfo> outputs,
                              double flops_per_element, std::initializer_list<std::size_t> parameters = {});

/// A row of an operator with one output that moves elements and computes nothing: it costs what it reads and writes.
/// The shape rule is the caller's.
Operator moving_operator(std::string_view type, std::size_t min_inputs, std::size_t max_inputs,
                         std::vector<Operator::AttributeRule> attributes = {});

}  // namespace mangrove::rows
