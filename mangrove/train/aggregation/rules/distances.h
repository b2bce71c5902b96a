#pragma once

#include <span>
#include <vector>

#include "mangrove/train/aggregation/vectors.h"

namespace mangrove::train::rules {

/// The Euclidean distance of each vector to `centre`, which has as many elements.
std::vector<double> distances_to(std::span<const float> centre, const Vectors& vectors);

/// centre <- centre + sum over i of shares[i] (v_i - centre).
void move(std::span<float> centre, const Vectors& vectors, std::span<const double> shares);

}  // namespace mangrove::train::rules
