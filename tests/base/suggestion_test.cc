#include "mangrove/base/suggestion.h"

#include <gtest/gtest.h>

#include <vector>

namespace mangrove {
namespace {

const std::vector<std::string> names = {"epochs", "batch", "learning_rate", "momentum"};

TEST(DidYouMean, FindsSlipsOfTheFingersOnly) {
  EXPECT_EQ(did_you_mean("epoch", names), "; did you mean 'epochs'?");
  EXPECT_EQ(did_you_mean("learning_rat", names), "; did you mean 'learning_rate'?");
  EXPECT_EQ(did_you_mean("lerning-rate", names), "; did you mean 'learning_rate'?");
  EXPECT_EQ(did_you_mean("colour", names), "");
}

TEST(Suggestion, ListsAllWhereNoneIsNear) {
  EXPECT_EQ(suggestion("momentun", names), "; did you mean 'momentum'?");
  EXPECT_EQ(suggestion("xyz", names), "; known: epochs, batch, learning_rate and momentum");
}

}  // namespace
}  // namespace mangrove
