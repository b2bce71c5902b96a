#include "mangrove/cli/reports/time_histogram.h"

#include <algorithm>

namespace mangrove::cli {
namespace {

constexpr Seconds kLongest = 1e9;

}  // namespace

bool TimeHistogram::reach(Seconds at) {
  if (!(at >= 0 && at <= kLongest)) return false;
  while (at >= width_ * kIntervals) {
    for (std::size_t i = 0; i < kIntervals / 2; ++i) sums_[i] = sums_[2 * i] + sums_[2 * i + 1];
    std::fill(sums_.begin() + kIntervals / 2, sums_.end(), 0);
    width_ *= 2;
  }
  last_ = std::max(last_, at);
  return true;
}

void TimeHistogram::add(Seconds at, double amount) {
  if (reach(at)) sums_[static_cast<std::size_t>(at / width_)] += amount;
}

void TimeHistogram::add_span(Seconds begin, Seconds end) {
  begin = std::max(begin, 0.0);
  if (!(begin <= end) || !reach(end)) return;
  for (auto i = static_cast<std::size_t>(begin / width_); i <= static_cast<std::size_t>(end / width_); ++i) {
    const Seconds from = static_cast<double>(i) * width_;
    sums_[i] += std::max(0.0, std::min(end, from + width_) - std::max(begin, from));
  }
}

Curve TimeHistogram::per_second() const {
  Curve curve;
  for (std::size_t i = 0; static_cast<double>(i) * width_ <= last_; ++i) {
    const Seconds from = static_cast<double>(i) * width_, length = std::min(width_, last_ - from);
    // the last interval is not over: of a small part of one, little can be said
    if (length >= width_ / 4 || i == 0) curve.emplace_back(from + length / 2, sums_[i] / std::max(length, width_ / 4));
  }
  return curve;
}

}  // namespace mangrove::cli
