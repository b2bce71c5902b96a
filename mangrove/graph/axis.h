#pragma once

#include <cstddef>
#include <cstdint>

#include "mangrove/base/result.h"
#include "mangrove/tensor/shape.h"

namespace mangrove {

/// The dimension of `shape` that ONNX calls `axis`: negative ones count from the last.
/// errors: invalid_argument (outside [-rank, rank)); the message shows axis and shape.
Result<std::size_t> resolve_axis(std::int64_t axis, const Shape& shape);

}  // namespace mangrove
