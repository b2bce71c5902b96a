#pragma once

#include "mangrove/train/aggregation/aggregation.h"

/// All rules, in the order of docs/robust-aggregation.md. Each is the name of its file, and of the function there that
/// makes its row.
#define MG_AGGREGATIONS mean, median, trimmed_mean, krum, multi_krum, geometric_median, centered_clipping

namespace mangrove::train::rules {

using MakeRow = AggregationRow();
MakeRow MG_AGGREGATIONS;
inline constexpr MakeRow* kAll[] = {MG_AGGREGATIONS};

/// A parameter f: how many workers may lie.
constexpr CallParameter kLiars{.name = "f", .fallback = 1, .least = 1, .most = 10'000, .is_whole = true};

/// The largest number that is less than half of n.
constexpr std::size_t minority_of(std::size_t n) {
  return (n - 1) / 2;
}

}  // namespace mangrove::train::rules
