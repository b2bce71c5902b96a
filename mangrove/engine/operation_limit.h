#pragma once

#include <cstdint>

#include "mangrove/graph/graph.h"

namespace mangrove {

/// A few kilobytes of a network can ask for years of computing, e.g. by a large batch. Sums the operations of one
/// forward pass over `batch` samples (a multiply-add counts 2). errors: resource_exhausted: they are more than 1e13, or
/// than the environment's MANGROVE_MAX_OPERATIONS, where it has a number: says how many, and what helps.
Status check_operations(const Graph& graph, std::int64_t batch);

}  // namespace mangrove
