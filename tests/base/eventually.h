#pragma once

#include "mangrove/base/clock.h"

namespace mangrove {

/// Whether the condition comes true within `limit`; asks it every few milliseconds.
template <class Condition>
bool eventually(Condition condition, Seconds limit = 20) {
  SteadyClock clock;
  const Deadline deadline = clock.after(limit);
  while (!condition()) {
    if (clock.now() > deadline) return false;
    clock.sleep_until(clock.after(0.005));
  }
  return true;
}

}  // namespace mangrove
