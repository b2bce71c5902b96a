#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "mangrove/plan/profile.h"

namespace mangrove::plan {

/// seconds = of_flop * FLOPs + of_byte * bytes moved + fixed.
struct LinearCost {
  double of_flop = 0, of_byte = 0;
  Seconds fixed = 0;
  Seconds seconds(double flops, Bytes moved) const {
    return of_flop * flops + of_byte * static_cast<double>(moved) + fixed;
  }
};

/// The measurement of one operator.
struct CostSample {
  double flops;
  Bytes moved;
  Seconds seconds;
};

/// The LinearCost with the least squared error among those without negative terms. It is the best of the fits with each
/// choice of terms. Zero without samples. source: Lawson & Hanson, Solving least squares problems, 1974, chapter 23.
LinearCost fit_linear_cost(std::span<const CostSample> samples);

/// Predicts times that a profile does not have: those of operators that were not measured, and of other sizes of
/// micro-batches. A kind of operator with at least kFewestSamples measurements is fitted by itself. All others are
/// fitted together.
class CostModel {
 public:
  explicit CostModel(const Profile& profile);

  static constexpr std::size_t kFewestSamples = 4;

  /// like: its kind, FLOPs and bytes are used. Returns it with times.
  OperatorProfile predicted(OperatorProfile like) const;

 private:
  struct Costs {
    LinearCost forward, backward;
  };
  std::map<std::string, Costs> kinds_;
  Costs all_;
};

}  // namespace mangrove::plan
