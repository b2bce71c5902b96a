#pragma once

#include <optional>

#include "mangrove/base/clock.h"

namespace mangrove::infer {

/// Whether so much time has passed since `begin`, by a clock that may be a little slower than that of a node. A node
/// that is honest does not say earlier that it has missed a deadline: it heard of it later. begin: nothing: not yet.
inline bool is_over(const std::optional<Instant>& begin, Seconds deadline, Instant now) {
  constexpr double kClockError = 1e-3;
  return begin && now - *begin >= (1 - kClockError) * deadline;
}

}  // namespace mangrove::infer
