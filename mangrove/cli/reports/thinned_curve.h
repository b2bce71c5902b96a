#pragma once

#include <cstdint>

#include "mangrove/cli/reports/svg_chart.h"

namespace mangrove::cli {

/// A curve of any number of points in bounded memory: beyond 1,024 points, each is the mean of as many neighbours.
class ThinnedCurve {
 public:
  /// In order of x. What is no number is left out.
  void add(double x, double y);
  /// (x, y)
  Curve points() const;
  bool empty() const { return points_.empty() && count_ == 0; }

 private:
  Curve points_;  // each the mean of `run_` that were added
  std::int64_t run_ = 1;
  double x_ = 0, y_ = 0;  // sums of those that are no point yet
  std::int64_t count_ = 0;
};

}  // namespace mangrove::cli
