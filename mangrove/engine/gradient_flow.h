#pragma once

#include "mangrove/base/result.h"
#include "mangrove/graph/graph.h"

namespace mangrove {

/// Whether every parameter that can be trained: one that an output depends on, but only through nodes that no gradient
/// passes (ArgMax, QuantizeLinear, a Cast to integers), would never be changed, and nobody would be told. A parameter
/// that also has another way to an output is fine (it may be in the condition of a Where), and so is one on which no
/// output depends. errors: invalid_argument (names the node, its operator and the parameters that it cuts off).
Status check_trainable(const Graph& graph);

}  // namespace mangrove
