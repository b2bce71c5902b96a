#pragma once

#include <array>

#include "mangrove/base/units.h"
#include "mangrove/cli/reports/svg_chart.h"

namespace mangrove::cli {

/// Amounts over time in bounded memory: sums over 64 equal intervals at most, which grow with the time that they cover.
class TimeHistogram {
 public:
  /// So much at this time. Times that are negative, or of more than 30 years, are left out.
  void add(Seconds at, double amount);
  /// One thing that was there from `begin` to `end`: per_second() is then how many there were on average.
  void add_span(Seconds begin, Seconds end);

  /// (middle of the interval, amount a second); empty where nothing was added.
  Curve per_second() const;
  bool empty() const { return last_ < 0; }

 private:
  static constexpr std::size_t kIntervals = 64;
  bool reach(Seconds at);

  std::array<double, kIntervals> sums_{};
  Seconds width_ = 1e-3;
  Seconds last_ = -1;
};

}  // namespace mangrove::cli
