#include "mangrove/plan/tile_clock.h"

#include <gtest/gtest.h>

#include "tests/plan/tile_problems.h"

namespace mangrove::plan {
namespace {

/// Devices of links with 10 bytes a second, which compute only.
class ClockOfTiles : public ::testing::Test {
 protected:
  ClockOfTiles() : problem_{.graph = graph_, .devices = std::vector<TileDevice>(3, {.name = "n", .rate = 10})} {
    for (std::size_t d = 0; d < 3; ++d) problem_.devices[d].name += std::to_string(d + 1);
  }
  TileLinks links() const { return TileLinks(problem_); }

  const Graph graph_ = testing::small_convolutions(1, 8);
  TileProblem problem_;
};

TEST_F(ClockOfTiles, SharesALinkAmongTheMessagesThatItSends) {
  const TileLinks links = this->links();
  TileClock clock(links);
  clock.carry(std::vector<TileMessage>{{0, 1, 20}, {0, 2, 30}});
  EXPECT_DOUBLE_EQ(clock.done(1), 4);  // at half of the rate
  EXPECT_DOUBLE_EQ(clock.done(2), 5);  // the last 10 bytes alone
  EXPECT_DOUBLE_EQ(clock.done(0), 0);  // its link sends while it does something else
  EXPECT_DOUBLE_EQ(clock.period(), 5);
  EXPECT_EQ(clock.sent(), 50);
}

TEST_F(ClockOfTiles, SharesALinkFromWhenAMessageIsPacked) {
  problem_.devices[0].message_seconds = 1;
  const TileLinks links = this->links();
  TileClock clock(links);
  clock.carry(std::vector<TileMessage>{{0, 1, 30}, {0, 2, 10}});
  // The first is alone from 1 to 2 s; then both have 5 bytes a second until the second has gone.
  EXPECT_DOUBLE_EQ(clock.done(2), 4);
  EXPECT_DOUBLE_EQ(clock.done(1), 5);
}

TEST_F(ClockOfTiles, ReceivesOneMessageAfterTheOtherInTheOrderOfTheirSending) {
  const TileLinks links = this->links();
  TileClock clock(links);
  clock.compute(0, 1);
  clock.carry(std::vector<TileMessage>{{0, 2, 20}, {1, 2, 30}});
  EXPECT_DOUBLE_EQ(clock.done(2), 5);  // from 0 to 3 that of the second device
  EXPECT_EQ(clock.busiest(), "the link of n3");
}

TEST_F(ClockOfTiles, ReceivesTwoSlowMessagesAtTheSameTimeOnAFastLink) {
  problem_.devices[2].rate = 1000;
  const TileLinks links = this->links();
  TileClock clock(links);
  clock.carry(std::vector<TileMessage>{{0, 2, 20}, {1, 2, 20}});
  EXPECT_DOUBLE_EQ(clock.done(2), 2);
}

TEST_F(ClockOfTiles, LimitsAWayInEachDirection) {
  problem_.ways[{0, 1}] = {.rate = 5, .delay = 0.5};
  problem_.devices[0].delay = 0.25;
  const TileLinks links = this->links();
  TileClock clock(links);
  clock.carry(std::vector<TileMessage>{{0, 1, 20}, {1, 0, 10}, {0, 2, 20}});
  EXPECT_DOUBLE_EQ(clock.done(1), 4.75);
  EXPECT_DOUBLE_EQ(clock.done(0), 2.75);
  EXPECT_DOUBLE_EQ(clock.done(2), 4.25);  // both have half of the first device's link
  EXPECT_DOUBLE_EQ(clock.period(), 4);
}

TEST_F(ClockOfTiles, PacksAndUnpacksOneMessageAfterTheOther) {
  problem_.devices[0].message_seconds = 1;
  problem_.devices[0].byte_seconds = 0.1;
  problem_.devices[1].message_seconds = 0.5;
  const TileLinks links = this->links();
  TileClock clock(links);
  clock.remember();
  clock.carry(std::vector<TileMessage>{{0, 1, 10}, {0, 1, 10}});
  EXPECT_DOUBLE_EQ(clock.done(0), 4);
  EXPECT_DOUBLE_EQ(clock.done(1), 5.5);
  clock.compute(1, 2);
  EXPECT_DOUBLE_EQ(clock.done(1), 7.5);
  EXPECT_EQ(clock.longest_wait(1), "computing on n1");
  clock.compute(1, 2);
  EXPECT_EQ(clock.longest_wait(1), "computing on n2");
}

}  // namespace
}  // namespace mangrove::plan
