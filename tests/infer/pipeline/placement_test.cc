#include "mangrove/infer/pipeline/placement.h"

#include <gtest/gtest.h>

namespace mangrove::infer {
namespace {

using Ranks = std::vector<net::Rank>;

TEST(WithSpares, KeepsWhatIsNotLost) {
  EXPECT_EQ(with_spares({1, 2}, Ranks{1, 2, 3}), (Placement{1, 2}));
}

TEST(WithSpares, OneSpareTakesAllStagesOfALostRank) {
  EXPECT_EQ(with_spares({1, 2, 3}, Ranks{1, 3, 4}), (Placement{1, 4, 3}));
  EXPECT_EQ(with_spares({1, 2, 2, 3}, Ranks{1, 3, 4, 5}), (Placement{1, 4, 4, 3}));
}

TEST(WithSpares, EachLostRankGetsItsOwn) {
  EXPECT_EQ(with_spares({1, 2, 3}, Ranks{2, 5, 6}), (Placement{5, 2, 6}));
}

TEST(WithSpares, IsNoneWhereThereAreTooFew) {
  EXPECT_EQ(with_spares({1, 2, 3}, Ranks{1, 3}), std::nullopt);
  EXPECT_EQ(with_spares({1, 2, 3}, Ranks{1, 4}), std::nullopt);
}

}  // namespace
}  // namespace mangrove::infer
