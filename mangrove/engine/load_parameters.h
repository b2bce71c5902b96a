#pragma once

#include <functional>
#include <string>

#include "mangrove/base/result.h"
#include "mangrove/engine/execution.h"
#include "mangrove/tensor/tensor.h"

namespace mangrove {

/// Copies the graph's parameters into an execution of its Graph::without_weights(). Once the graph is gone, there is
/// one copy of them: a program compiled from the graph itself keeps its weights beside those of every execution.
/// errors: invalid_argument (the execution is of another graph).
Status load_parameters(Execution& execution, const Graph& graph);

/// A parameter's values. errors: of whoever has them.
using ParameterValues = std::function<Result<Tensor>(const std::string& name)>;

/// The same of parameters that are elsewhere: asks for one after the other, and only for those that a step reads.
/// errors: those of `values`; invalid_argument (the execution is of another graph).
Status load_parameters_from(const ParameterValues& values, Execution& execution, const Graph& graph);

}  // namespace mangrove
