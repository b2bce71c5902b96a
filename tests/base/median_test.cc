#include "mangrove/base/median.h"

#include <gtest/gtest.h>

namespace mangrove {
namespace {

TEST(Median, IsTheValueInTheMiddle) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({5}), 5);
}

TEST(Median, OfAnEvenNumberIsTheLowerOneOfTheTwoInTheMiddle) {
  EXPECT_EQ(median({4, 1}), 1);
  EXPECT_EQ(median({9, 4, 1, 3}), 3);
}

TEST(Median, OfNothingIsZero) {
  EXPECT_EQ(median({}), 0);
}

}  // namespace
}  // namespace mangrove
