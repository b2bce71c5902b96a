#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mangrove/base/result.h"

namespace mangrove::plan {

/// A cut of n operators in a row into stages: stage s holds operators [begins[s], begins[s+1]), the last one up to n.
struct Partition {
  std::vector<std::size_t> begins;
  double bottleneck = 0;  // cost of the costliest stage

  std::size_t stages() const { return begins.size(); }
  /// One past the last operator of stage s, of n operators.
  std::size_t end(std::size_t s, std::size_t n) const { return s + 1 < begins.size() ? begins[s + 1] : n; }
};

/// The partition into exactly `stages` non-empty stages with the least bottleneck; among equals, each stage from the
/// first on is as cheap as it can be, then as short. costs[i] >= 0 is operator i's cost; cut_costs[i] >= 0 is added to
/// the stages on both sides of a cut before operator i (transfer; cut_costs[0] is not used; empty: free).
/// Exact, by dynamic programming over (operator, stages), O(n^2 * stages).
/// errors: invalid_argument (no stages, more stages than operators, a cost that is negative or not a number, or not one
/// cut cost per operator).
Result<Partition> partition_chain(std::span<const double> costs, std::size_t stages,
                                  std::span<const double> cut_costs = {});

}  // namespace mangrove::plan
