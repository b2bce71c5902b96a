#include "mangrove/learn/network_speed.h"

#include <gtest/gtest.h>

#include "tests/base/hand_clock.h"

#include "mangrove/zoo/zoo.h"

namespace mangrove::learn {
namespace {

/// The steps that take this long each.
Result<std::vector<Seconds>> measured(const std::vector<Seconds>& taken, const StepLimits& limits) {
  testing::HandClock clock;
  return measure_steps([&](std::size_t i) { clock.sleep_until(clock.after(taken[std::min(i, taken.size() - 1)])); },
                       limits, clock);
}

TEST(MeasureSteps, LeavesOutTheWarmUpAndSorts) {
  const auto steps = measured({1, 1, 3, 2, 4}, {.warm_up = 2, .seconds = 5, .fewest = 1});
  ASSERT_TRUE(steps.ok());
  EXPECT_EQ(*steps, (std::vector<Seconds>{2, 3}));
}

TEST(MeasureSteps, NeverCountsTheFirstStepAndMakesTheFewest) {
  const auto steps = measured({9, 4}, {.warm_up = 0, .seconds = 1, .fewest = 3});
  ASSERT_TRUE(steps.ok());
  EXPECT_EQ(*steps, (std::vector<Seconds>{4, 4, 4}));
}

TEST(MeasureSteps, GivesUpAfterTheFirstStepWhereTheFewestTakeTooLong) {
  const auto steps = measured({4}, {.seconds = 1, .fewest = 3, .most = 11});
  ASSERT_FALSE(steps.ok());
  EXPECT_EQ(steps.code(), Code::deadline_exceeded);
  EXPECT_EQ(steps.error().message, "too slow: the first step took 4.0 s, and there are 11.0 s for 3 steps");
  EXPECT_TRUE(measured({4}, {.seconds = 1, .fewest = 3, .most = 12}).ok());
}

TEST(MeasureSteps, EndsWhenItIsStopped) {
  std::stop_source stop;
  testing::HandClock clock;
  std::size_t done = 0;
  const auto steps = measure_steps(
      [&](std::size_t i) {
        done = i + 1;
        if (i == 2) stop.request_stop();
      },
      {.stop = stop.get_token()}, clock);
  ASSERT_FALSE(steps.ok());
  EXPECT_EQ(steps.code(), Code::cancelled);
  EXPECT_EQ(done, 3U);
}

TEST(Quantile, IsOneOfTheValues) {
  EXPECT_EQ(quantile({7}, 0.9), 7);
  EXPECT_EQ(quantile({1, 2, 3, 4, 5}, 0.5), 3);
  EXPECT_EQ(quantile({1, 2, 3, 4, 5}, 0.1), 1);
  EXPECT_EQ(quantile({1, 2, 3, 4}, 0.5), 2);
  EXPECT_EQ(quantile({1, 2, 3}, 0.9), 3);
  EXPECT_EQ(quantile({1, 2, 3, 4, 5}, 1), 5);
}

TEST(NetworkSpeed, OfTrainingAndInference) {
  const SpeedOptions options{.batch = 2,
                             .threads = 2,
                             .resident = [] { return Bytes{12}; },
                             .steps = {.warm_up = 0, .seconds = 0, .fewest = 2}};
  for (const bool trains : {true, false}) {
    const auto speed =
        (trains ? measure_training : measure_inference)(zoo::build_model("lenet", {}).value(), options, SteadyClock());
    ASSERT_TRUE(speed.ok()) << speed.error().message;
    EXPECT_EQ(speed->steps.size(), 2U);
    EXPECT_GT(speed->steps[0], 0);
    EXPECT_GT(speed->planned, 431'080 * kFloatBytes) << "at least the weights";
    EXPECT_EQ(speed->resident, 12);
    EXPECT_EQ(speed->loss.has_value(), trains);
    EXPECT_FALSE(speed->backend.empty());
  }
}

}  // namespace
}  // namespace mangrove::learn
