#pragma once

#include <cstdint>
#include <vector>

#include "mangrove/tensor/tensor.h"

namespace mangrove::testing {

/// A tensor [elements] of int64, as operators take their axes, starts and shapes.
inline Tensor ints(const std::vector<std::int64_t>& elements) {
  return Tensor::of<std::int64_t>(Shape{static_cast<std::int64_t>(elements.size())}, elements);
}

}  // namespace mangrove::testing
