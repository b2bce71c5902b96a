#pragma once

#include <cstddef>
#include <vector>

#include "mangrove/train/aggregation/vectors.h"

namespace mangrove::train::rules {

/// The vectors by their scores, the least first: a score is the sum of the squared Euclidean distances to the
/// n - liars - 2 vectors that are nearest (at least one). Of equal scores the first vector is first.
///
/// cost    n^2 d / 2, for n vectors of d elements; memory n^2.
/// source  Blanchard, El Mhamdi, Guerraoui & Stainer, Machine learning with adversaries: Byzantine tolerant gradient
///         descent, NIPS 2017.
std::vector<std::size_t> by_krum_score(const Vectors& vectors, std::size_t liars);

}  // namespace mangrove::train::rules
