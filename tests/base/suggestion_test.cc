#include "mangrove/base/suggestion.h"

#include <gtest/gtest.h>

#include <vector>

namespace mangrove {
namespace {

const std::vector<std::string> names = {"epochs", "batch", "learning_rate", "momentum"};

TEST(Nearest, FindsSlipsOfTheFingersOnly) {
  EXPECT_EQ(nearest("epoch", names), "epochs");
  EXPECT_EQ(nearest("learning_rat", names), "learning_rate");
  EXPECT_EQ(nearest("lerning-rate", names), "learning_rate");
  EXPECT_EQ(nearest("colour", names), "");
}

TEST(Suggestion, ListsAllWhereNoneIsNear) {
  EXPECT_EQ(suggestion("momentun", names), "; did you mean 'momentum'?");
  EXPECT_EQ(suggestion("xyz", names), "; known: epochs, batch, learning_rate and momentum");
}

}  // namespace
}  // namespace mangrove
