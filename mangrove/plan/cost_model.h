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

/// What was measured of one operator.
struct CostSample {
  double flops;
  Bytes moved;
  Seconds seconds;
};

/// The LinearCost without negative terms that has the least squared error: the best of those with each choice of terms.
/// Samples of none: zero. source: Lawson & Hanson, Solving least squares problems, 1974, chapter 23.
LinearCost fit_linear_cost(std::span<const CostSample> samples);

/// Predicts what a profile does not have: operators that were not measured, and other sizes of micro-batches. Each kind
/// of operator is fitted by itself where kFewestSamples of it were measured, else all together.
class CostModel {
 public:
  explicit CostModel(const Profile& profile);

  static constexpr std::size_t kFewestSamples = 4;

  /// `like`: its kind, FLOPs and bytes; its times are set.
  OperatorProfile predicted(OperatorProfile like) const;

 private:
  struct Costs {
    LinearCost forward, backward;
  };
  std::map<std::string, Costs> kinds_;
  Costs all_;
};

}  // namespace mangrove::plan
