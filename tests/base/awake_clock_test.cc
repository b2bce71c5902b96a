#include "mangrove/base/awake_clock.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/base/hand_clock.h"

namespace mangrove {
namespace {

TEST(AwakeClock, CountsTheTimeInWhichItIsRead) {
  testing::HandClock machine;
  const AwakeClock clock(machine);
  const Instant start = clock.now();
  for (int i = 0; i < 100; ++i) {
    machine.pass(0.25);
    EXPECT_DOUBLE_EQ(clock.now() - start, 0.25 * (i + 1));
  }
}

TEST(AwakeClock, APauseOfTheProcessEndsNoDeadline) {
  testing::HandClock machine;
  const AwakeClock clock(machine);
  const Deadline deadline = clock.after(3);
  machine.pass(1000);
  EXPECT_LT(clock.now(), deadline);
  EXPECT_DOUBLE_EQ(deadline - clock.now(), 3 - AwakeClock::kMostAtOnce);
  for (Seconds left = deadline - clock.now(); left > 0; left = deadline - clock.now())
    machine.pass(std::min(left, AwakeClock::kMostAtOnce));
  EXPECT_DOUBLE_EQ((clock.now() - deadline), 0);
}

TEST(AwakeClock, NeverGoesBack) {
  testing::HandClock machine;
  const AwakeClock clock(machine);
  const Instant start = clock.now();
  machine.pass(-50);
  EXPECT_EQ(clock.now(), start);
  machine.pass(0.25);
  EXPECT_DOUBLE_EQ(clock.now() - start, 0.25);
}

TEST(AwakeClock, OfTheMachineGoesOnByItself) {
  AwakeClock clock;
  const SteadyClock steady;
  const Instant before = steady.now(), start = clock.now();
  clock.sleep_until(clock.after(1.5));
  EXPECT_GE(clock.now() - start, 1.5);
  EXPECT_GE(steady.now() - before, 1.5);
}

}  // namespace
}  // namespace mangrove
