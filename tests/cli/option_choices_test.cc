#include "mangrove/cli/option_choices.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace mangrove::cli {
namespace {

bool can_be(std::string_view command, std::string_view option, std::string_view value) {
  return std::ranges::count(option_choices(command, option), value) == 1;
}

TEST(OptionChoices, OfAKeyAreTheNamesOfItsTable) {
  EXPECT_TRUE(can_be("train", "--strategy", "all_reduce"));
  EXPECT_FALSE(can_be("train", "--strategy", "tiers"));
  EXPECT_TRUE(can_be("infer", "--strategy", "tiers"));
  EXPECT_FALSE(can_be("infer", "--strategy", "all_reduce"));
  EXPECT_TRUE(can_be("train", "--aggregate", "median"));
  EXPECT_TRUE(can_be("run", "--optimizer", "adam"));
  EXPECT_TRUE(can_be("infer", "--tiling", "even_grid"));
  EXPECT_TRUE(can_be("infer", "--policy", "reassign"));
}

TEST(OptionChoices, AreNoneWhereAnyTextWillDo) {
  EXPECT_TRUE(option_choices("train", "--run-dir").empty());
  EXPECT_TRUE(option_choices("train", "--nothing").empty());
  EXPECT_TRUE(option_choices("train", "--momentum").empty()) << "its help names optimizers, its value is a number";
}

}  // namespace
}  // namespace mangrove::cli
