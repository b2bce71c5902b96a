#pragma once

#include <span>

#include "mangrove/train/aggregation/vectors.h"

namespace mangrove::train::rules {

/// The median of each element. With an even number of vectors it is the mean of the two values in the middle.
void element_median(const Vectors& vectors, std::span<float> out);

}  // namespace mangrove::train::rules
