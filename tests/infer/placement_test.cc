#include "mangrove/infer/placement.h"

#include <gtest/gtest.h>

namespace mangrove::infer {
namespace {

using Ranks = std::vector<net::Rank>;

TEST(PlaceStages, OneEachOnTheFirstRanks) {
  EXPECT_EQ(place_stages(3, Ranks{1, 2, 4, 5}), (Placement{1, 2, 4}));
}

TEST(PlaceStages, NeighboursShareARankWhereThereAreFewer) {
  EXPECT_EQ(place_stages(5, Ranks{2, 3}), (Placement{2, 2, 2, 3, 3}));
  EXPECT_EQ(place_stages(3, Ranks{7}), (Placement{7, 7, 7}));
}

TEST(ReplaceLost, PrefersASpareRank) {
  EXPECT_EQ(replace_lost({1, 2, 3}, Ranks{1, 3, 4}), (Placement{1, 4, 3}));
}

TEST(ReplaceLost, ElseTheLeastLoaded) {
  EXPECT_EQ(replace_lost({1, 1, 2, 3}, Ranks{1, 3}), (Placement{1, 1, 3, 3}));
}

TEST(ReplaceLost, SpreadsSeveralStages) {
  EXPECT_EQ(replace_lost({1, 1, 1}, Ranks{2, 3}), (Placement{2, 3, 2}));
}

TEST(ReplaceLost, KeepsWhatIsNotLost) {
  EXPECT_EQ(replace_lost({1, 2}, Ranks{1, 2, 3}), (Placement{1, 2}));
}

}  // namespace
}  // namespace mangrove::infer
