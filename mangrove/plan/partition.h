#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mangrove/base/result.h"

namespace mangrove::plan {

/// A cut of n operators in a row into stages: stage s holds operators [begins[s], begins[s+1]), the last one up to n.
struct Partition {
  std::vector<std::size_t> begins;
  double bottleneck = 0;   // cost of the costliest stage
};

/// The partition into exactly `stages` non-empty stages with the least bottleneck; among equals the one whose earlier
/// stages are cheapest. costs[i] >= 0 is operator i's cost; cut_costs[i] is added to the stages on both sides of a cut before operator
/// i (transfer; cut_costs[0] is not used; empty: free).
/// Exact, by dynamic programming over (operator, stages), O(n^2 * stages).
/// errors: invalid_argument (no stages, or more stages than operators).
Result<Partition> partition_chain(std::span<const double> costs, std::size_t stages, std::span<const double> cut_costs = {});

}  // namespace mangrove::plan
