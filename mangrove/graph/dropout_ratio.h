#pragma once

#include <span>

#include "mangrove/base/result.h"
#include "mangrove/graph/graph.h"

namespace mangrove {

/// The probability with which a Dropout node drops an element, from its constant inputs.
/// errors: unimplemented (ratio is not constant), invalid_argument (no real scalar in [0, 1)).
Result<double> dropout_ratio(const Node& node, std::span<const Tensor* const> constants);

}  // namespace mangrove
