#pragma once

#include "mangrove/base/units.h"

namespace mangrove::plan {

/// What takes so many times as long as expected, or less than the inverse, has drifted; less may be noise.
constexpr double kDrift = 1.3;
inline bool is_drift(double factor) {
  return factor > kDrift || factor * kDrift < 1;
}

/// What another plan must promise so that a running pipeline changes to it. Without such a threshold, and without
/// counting what a change costs, plans would follow every bit of noise.
struct ChangeRule {
  double speedup = 1;  // times as fast as the plan in use, at least
  double gain = 1;     // that the change saves over the rest of the run: more than so many times what it costs

  /// left: what the rest of the run would take with the plan in use. cost: of the change, without progress.
  bool is_met(double promised_speedup, Seconds left, Seconds cost) const {
    return promised_speedup >= speedup && left * (1 - 1 / promised_speedup) > gain * cost;
  }
};

}  // namespace mangrove::plan
