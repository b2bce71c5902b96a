#include <algorithm>
#include <cmath>
#include <numbers>

#include "mangrove/learn/schedules/rules.h"

namespace mangrove::learn::rules {
namespace {

constexpr double kRise = 0.3;          // share of the steps on the way up
constexpr double kStart = 1.0 / 25;    // factor of the first step
constexpr double kEnd = kStart / 1e4;  // and of the last

/// Half a cosine from one value to another.
double between(double from, double to, double share) {
  return to + (from - to) / 2 * (1 + std::cos(std::numbers::pi * share));
}

}  // namespace

// source: Smith & Topin, Super-convergence: very fast training of neural networks using large learning rates, 2018;
// with PyTorch's constants and cosines
double one_cycle(const SchedulePosition& position, const ScheduleOptions&, const Plateau&) {
  const double last = std::max(1.0, static_cast<double>(position.total) - 1);
  const double top = std::clamp(kRise * static_cast<double>(position.total) - 1, 0.0, last);
  const double step = std::min(static_cast<double>(position.step), last);
  if (step < top) return between(kStart, 1, step / top);
  return last > top ? between(1, kEnd, (step - top) / (last - top)) : 1;
}

}  // namespace mangrove::learn::rules
