#pragma once

#include <optional>

#include "mangrove/graph/operator.h"
#include "mangrove/graph/shape_values.h"

namespace mangrove {

/// How a known value that has the symbolic batch or a multiple of it as an element is written as constant input `input`
/// of a node: see fold_shapes. `inputs`: what the node's other inputs are. Nothing where the operator has no way to say
/// it.
std::optional<Tensor> with_batch_in_place(const Node& node, std::size_t input, const ShapeValue& value,
                                          const OperatorInputs& inputs);

}  // namespace mangrove
