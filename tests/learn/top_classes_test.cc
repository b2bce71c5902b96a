#include "mangrove/learn/top_classes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace mangrove::learn {
namespace {

TEST(TopClasses, TheMostProbableComeFirst) {
  const auto top = top_classes(std::vector<float>{1, 3, 2, 3}, 3);
  ASSERT_EQ(top.size(), 3u);
  EXPECT_EQ(top[0].number, 1u) << "of equals the first";
  EXPECT_EQ(top[1].number, 3u);
  EXPECT_EQ(top[2].number, 2u);
  EXPECT_NEAR(top[0].probability, std::exp(2) / (2 * std::exp(2) + std::exp(1) + 1), 1e-9);
}

TEST(TopClasses, ThereAreNoMoreThanClasses) {
  EXPECT_EQ(top_classes(std::vector<float>{1, 2}, 5).size(), 2u);
  EXPECT_TRUE(top_classes({}, 5).empty());
}

TEST(TopClasses, ARowWithoutNumbersHasNone) {
  EXPECT_TRUE(top_classes(std::vector<float>{1, std::numeric_limits<float>::quiet_NaN()}, 2).empty());
}

}  // namespace
}  // namespace mangrove::learn
