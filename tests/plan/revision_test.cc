#include "mangrove/plan/revision.h"

#include <gtest/gtest.h>

#include <limits>

namespace mangrove::plan {
namespace {

TEST(Drift, IsMoreThanNoiseEitherWay) {
  EXPECT_FALSE(is_drift(1));
  EXPECT_FALSE(is_drift(kDrift - 0.01));
  EXPECT_FALSE(is_drift(1 / (kDrift - 0.01)));
  EXPECT_TRUE(is_drift(kDrift + 0.01));
  EXPECT_TRUE(is_drift(1 / (kDrift + 0.01)));
}

TEST(ChangeRule, CountsWhatAChangeCosts) {
  const ChangeRule rule{.speedup = 1.2, .gain = 2};
  EXPECT_TRUE(rule.is_met(1.25, 101, 10)) << "it saves 20.2 s, and twice its cost is 20 s";
  EXPECT_FALSE(rule.is_met(1.25, 99, 10)) << "19.8 s";
  EXPECT_FALSE(rule.is_met(1.19, 1e9, 10)) << "may be noise";
  EXPECT_FALSE(rule.is_met(2, 0, 0)) << "nothing is left to gain";
  EXPECT_TRUE(rule.is_met(std::numeric_limits<double>::infinity(), 21, 10)) << "the rest takes no time at all";
  EXPECT_FALSE(rule.is_met(std::numeric_limits<double>::quiet_NaN(), 1e9, 0));
}

}  // namespace
}  // namespace mangrove::plan
