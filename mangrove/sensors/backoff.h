#pragma once

#include <algorithm>

#include "mangrove/base/random.h"
#include "mangrove/base/units.h"

namespace mangrove::sensors {

/// Pauses between attempts to reach a peer: each twice as long as the one before it, up to a limit, and each uniform
/// between its half and its whole, so that many boards do not come back at the same moment.
/// source: Brooker, Exponential backoff and jitter, AWS Architecture Blog, 2015 ("equal jitter").
/// threads: one.
class Backoff {
 public:
  Backoff(Seconds first, Seconds longest, Random random) : first_(first), longest_(longest), random_(random) {}

  Seconds next() {
    pause_ = pause_ == 0 ? first_ : std::min(2 * pause_, longest_);
    return random_.uniform(pause_ / 2, pause_);
  }
  void succeeded() { pause_ = 0; }

 private:
  const Seconds first_, longest_;
  Random random_;
  Seconds pause_ = 0;
};

}  // namespace mangrove::sensors
