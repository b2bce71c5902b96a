#pragma once

#include <cstdint>

#include "mangrove/graph/graph.h"

namespace mangrove {

/// Checks that one forward pass over `batch` samples does not take too many operations (a multiply-add counts 2): a
/// network of a few kilobytes can ask for years of computing.
/// errors: resource_exhausted (there are more than 1e13 operations or, if the environment variable
/// MANGROVE_MAX_OPERATIONS is a number, more than that; says how many, and what helps).
Status check_operations(const Graph& graph, std::int64_t batch);

}  // namespace mangrove
