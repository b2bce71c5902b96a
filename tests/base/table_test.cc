#include "mangrove/base/table.h"

#include <gtest/gtest.h>

#include <span>
#include <string_view>

namespace mangrove {
namespace {

struct Row {
  std::string_view name;
  int value;
};

constexpr Row kRows[] = {{"first", 1}, {"second", 2}};

TEST(Table, FindsTheRowOfAName) {
  const auto row = find_row(kRows, "second", "unknown row");
  ASSERT_TRUE(row.ok());
  EXPECT_EQ(*row, &kRows[1]);
  EXPECT_EQ(*find_row(std::span(kRows), "first", "unknown row"), &kRows[0]);
}

TEST(Table, AnUnknownNameGetsTheNearestOneOrAllOfThem) {
  const auto near = find_row(kRows, "secnd", "unknown row");
  ASSERT_FALSE(near.ok());
  EXPECT_EQ(near.error().code, Code::not_found);
  EXPECT_EQ(near.error().message, "unknown row 'secnd'; did you mean 'second'?");
  const auto far = find_row(kRows, "third party", "unknown row", Code::invalid_argument);
  ASSERT_FALSE(far.ok());
  EXPECT_EQ(far.error().code, Code::invalid_argument);
  EXPECT_EQ(far.error().message, "unknown row 'third party'; known: first and second");
}

}  // namespace
}  // namespace mangrove
