#pragma once

#include "mangrove/base/result.h"
#include "mangrove/tensor/shape.h"

namespace mangrove {

/// The shape of an elementwise operation on a and b, as numpy broadcasts them: aligned at the last dimension, sizes
/// equal or 1. A symbolic batch meets a symbolic batch or 1.
/// errors: invalid_argument; the message shows both shapes.
Result<Shape> broadcast(const Shape& a, const Shape& b);

}  // namespace mangrove
