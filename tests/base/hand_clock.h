#pragma once

#include "mangrove/base/clock.h"

namespace mangrove::testing {

/// A clock that stands still until a test, or whoever waits, moves it. It begins at 100 s.
/// threads: one at a time.
class HandClock final : public Clock {
 public:
  Instant now() const override { return now_; }
  void sleep_until(Instant instant) override { now_ = instant; }
  void pass(Seconds seconds) { now_ = now_ + seconds; }

 private:
  Instant now_{100};
};

}  // namespace mangrove::testing
