#include "mangrove/base/make_rows.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace mangrove {
namespace {

struct MadeRow {
  std::string_view name;
  int number;
};

#define MG_MADE_ROWS second_row, first_row
using MakeRow = MadeRow();
MakeRow MG_MADE_ROWS;
constexpr MakeRow* kMadeRows[] = {MG_MADE_ROWS};

MadeRow first_row() {
  return {.name = "first", .number = 1};
}
MadeRow second_row() {
  return {.name = "second", .number = 2};
}

TEST(MakeRows, RowsHaveTheOrderOfTheList) {
  const std::vector<MadeRow> rows = make_rows(kMadeRows);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].name, "second");
  EXPECT_EQ(rows[0].number, 2);
  EXPECT_EQ(rows[1].name, "first");
  EXPECT_EQ(rows[1].number, 1);
}

}  // namespace
}  // namespace mangrove
