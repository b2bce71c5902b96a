#include "mangrove/base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace mangrove {
namespace {

Result<int> half(int n) {
  if (n % 2 != 0) return make_error(Code::invalid_argument, "odd: " + std::to_string(n));
  return n / 2;
}

Result<int> quarter(int n) {
  MG_TRY(const int once, half(n));
  MG_TRY(const int twice, half(once).context("second half"));
  return twice;
}

Status check_quarter(int n) {
  MG_RETURN_IF_ERROR(quarter(n));
  return {};
}

TEST(Result, TryHandsOnValuesAndErrors) {
  EXPECT_EQ(*quarter(12), 3);
  EXPECT_EQ(quarter(6).error().message, "second half: odd: 3");
  EXPECT_EQ(quarter(3).code(), Code::invalid_argument);
  EXPECT_TRUE(check_quarter(4).ok());
  EXPECT_EQ(check_quarter(5).error().message, "odd: 5");
}

TEST(Result, HoldsMoveOnlyAndConvertibleTypes) {
  Result<std::unique_ptr<int>> pointer = std::make_unique<int>(4);
  EXPECT_EQ(**pointer, 4);
  const std::unique_ptr<int> moved = std::move(pointer).value();
  EXPECT_EQ(*moved, 4);
  const Result<std::shared_ptr<const int>> shared = std::make_shared<int>(5);
  EXPECT_EQ(**shared, 5);
}

TEST(ResultDeathTest, ValueOfAnErrorAbortsWithItsMessage) {
  EXPECT_DEATH((void)*half(1), "odd: 1");
}

}  // namespace
}  // namespace mangrove
