#pragma once

#include "mangrove/base/units.h"

namespace mangrove::plan {

/// A time has drifted if it is more than kDrift times the expected one, or less than 1/kDrift of it. Smaller
/// differences may be noise.
constexpr double kDrift = 1.3;
inline bool is_drift(double factor) {
  return factor > kDrift || factor * kDrift < 1;
}

/// Whether it has drifted in the same direction twice.
inline bool drift_persists(double before, double now) {
  return is_drift(before) && is_drift(now) && (before > 1) == (now > 1);
}

/// The conditions under which a running pipeline changes to another plan. Without such conditions, and without the
/// price of a change, plans would follow every noise.
struct ChangeRule {
  double speedup = 1;  // least promised speed, as a multiple of that of the plan in use
  double gain = 1;     // time saved over the rest of the run, as a multiple of the price; must be exceeded

  /// left: the time of the rest of the run with the plan in use. cost: the time without progress during the change.
  bool is_met(double promised_speedup, Seconds left, Seconds cost) const {
    return promised_speedup >= speedup && left * (1 - 1 / promised_speedup) > gain * cost;
  }
};

}  // namespace mangrove::plan
