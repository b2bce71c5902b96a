#pragma once

#include <array>

#include "mangrove/train/aggregation/aggregation.h"

// The rules: each is defined in the file of its name, declared here, and listed in kAll.
namespace mangrove::train::rules {

AggregationRow mean();
AggregationRow median();
AggregationRow trimmed_mean();
AggregationRow krum();
AggregationRow multi_krum();
AggregationRow geometric_median();
AggregationRow centered_clipping();

/// All rules, in the order of docs/robust-aggregation.md.
inline constexpr std::array kAll = {&mean,       &median,           &trimmed_mean,     &krum,
                                    &multi_krum, &geometric_median, &centered_clipping};

/// A parameter f: how many workers may lie.
constexpr CallParameter kLiars{.name = "f", .fallback = 1, .least = 1, .most = 10'000, .is_whole = true};

/// The largest number that is less than half of n.
constexpr std::size_t minority_of(std::size_t n) {
  return (n - 1) / 2;
}

}  // namespace mangrove::train::rules
