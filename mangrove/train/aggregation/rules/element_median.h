#pragma once

#include <span>

#include "mangrove/train/aggregation/vectors.h"

namespace mangrove::train::rules {

/// The median of each element; of an even number of vectors the middle between the two in the middle.
void element_median(const Vectors& vectors, std::span<float> out);

}  // namespace mangrove::train::rules
