#include "mangrove/cli/reports/thinned_curve.h"

#include <cmath>

namespace mangrove::cli {
namespace {

constexpr std::size_t kMostKept = 1024;

}  // namespace

void ThinnedCurve::add(double x, double y) {
  if (!std::isfinite(x) || !std::isfinite(y)) return;
  x_ += x;
  y_ += y;
  if (++count_ < run_) return;
  const auto count = static_cast<double>(count_);
  points_.emplace_back(x_ / count, y_ / count);
  x_ = y_ = 0;
  count_ = 0;
  if (points_.size() < kMostKept) return;
  for (std::size_t i = 0; i < kMostKept / 2; ++i) {
    const auto& [x0, y0] = points_[2 * i];
    const auto& [x1, y1] = points_[2 * i + 1];
    points_[i] = {(x0 + x1) / 2, (y0 + y1) / 2};
  }
  points_.resize(kMostKept / 2);
  run_ *= 2;
}

Curve ThinnedCurve::points() const {
  Curve all = points_;
  if (count_ > 0) all.emplace_back(x_ / static_cast<double>(count_), y_ / static_cast<double>(count_));
  return all;
}

}  // namespace mangrove::cli
