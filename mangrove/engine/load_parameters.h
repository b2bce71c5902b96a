#pragma once

#include "mangrove/engine/execution.h"

namespace mangrove {

/// Copies the graph's parameters into an execution of its Graph::without_weights(). Once the graph is gone, there is
/// one copy of them: a program compiled from the graph itself keeps its weights beside those of every execution.
/// errors: invalid_argument (the execution is of another graph).
Status load_parameters(Execution& execution, const Graph& graph);

}  // namespace mangrove
