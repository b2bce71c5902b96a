#pragma once

#include "mangrove/engine/execution.h"

namespace mangrove {

/// Runs forward and backward in double on inputs and output gradients drawn from the seed, and compares the gradient of
/// every element of every parameter and input with central differences of sum(output x output gradient). The largest
/// difference, relative where the gradient is larger than 1.
/// `given`: inputs that must not be drawn (other ranges or types). Values that are not floating have no gradient.
double gradient_error(Execution& execution, std::uint64_t seed, const std::map<std::string, Tensor>& given = {});

/// The execution for it: training with input gradients. Fails the test on an error.
std::unique_ptr<Execution> training_execution(const Graph& graph, const std::string& backend, std::int64_t batch);

}  // namespace mangrove
