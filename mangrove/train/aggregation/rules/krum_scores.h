#pragma once

#include <cstddef>
#include <vector>

#include "mangrove/train/aggregation/vectors.h"

namespace mangrove::train::rules {

/// The indices of the vectors in the order of their scores, the least first. The score of a vector is the sum of its
/// squared Euclidean distances to the n - liars - 2 nearest other vectors (at least one). Vectors with equal scores
/// keep their order.
///
/// cost    n^2 d / 2, for n vectors of d elements; memory n^2.
/// source  Blanchard, El Mhamdi, Guerraoui & Stainer, Machine learning with adversaries: Byzantine tolerant gradient
///         descent, NIPS 2017.
std::vector<std::size_t> by_krum_score(const Vectors& vectors, std::size_t liars);

}  // namespace mangrove::train::rules
