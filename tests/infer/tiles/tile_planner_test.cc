#include "mangrove/infer/tiles/tile_planner.h"

#include <gtest/gtest.h>

#include "tests/infer/tiles/tile_job.h"

namespace mangrove::infer {
namespace {

/// Two boards; rank 2 takes `slower` times as long as rank 1.
std::vector<DeviceProfile> boards(const Graph& graph, double slower = 1) {
  std::vector<DeviceProfile> boards;
  for (const net::Rank rank : {1, 2}) {
    DeviceProfile& board = boards.emplace_back();
    board.rank = rank;
    board.name = "board-" + std::to_string(rank);
    board.operator_seconds.assign(graph.nodes().size(), 0.01);
    board.rate = 12.5e6;  // else a pipeline of both boards would be as good as each alone
    board.message_seconds = 1e-4;
    if (rank == 2) board.scale(slower);
  }
  return boards;
}

class TilePlanning : public ::testing::Test {
 protected:
  TilePlanning() : planner_(graph_, boards(graph_), tiles_job(30, "auto")) {}

  /// A round of micro-batches in which rank 2 takes `factor` times as long as was planned.
  void play_round(const TileTeams& teams, double factor) {
    for (int i = 0; i < TilePlanner::kRound; ++i) {
      std::vector<TileTrace> traces;
      const plan::TilePlan& team = teams.teams.front();
      for (std::size_t b = 0; b < team.blocks.size(); ++b) {
        for (const plan::TilePart& part : team.blocks[b].parts) {
          TileTrace& trace = traces.emplace_back();
          trace.set_rank(teams.rank(part.device));
          trace.set_step(static_cast<std::uint32_t>(b + 1));
          trace.set_seconds(part.busy * (trace.rank() == 2 ? factor : 1));
        }
      }
      std::vector<const TileTrace*> all;
      for (const TileTrace& trace : traces) all.push_back(&trace);
      planner_.add(teams, all);
    }
  }
  std::int64_t area_of(const TileTeams& teams, net::Rank rank) const {
    for (const plan::TilePart& part : teams.teams.front().blocks.front().parts)
      if (teams.rank(part.device) == rank) return part.output.area();
    return 0;
  }

  const Graph graph_ = tiled_network();
  TilePlanner planner_;
};

TEST_F(TilePlanning, GivesEqualBoardsTilesOfAboutTheSameSize) {
  const auto teams = planner_.plan({1, 2});
  ASSERT_TRUE(teams.ok()) << teams.error().message;
  EXPECT_EQ(teams->members(), (net::RankSet{1, 2}));
  EXPECT_NEAR(static_cast<double>(area_of(*teams, 1)) / static_cast<double>(area_of(*teams, 2)), 1, 0.25);
}

TEST_F(TilePlanning, ForTheThroughputEachBoardIsATeam) {
  InferJob job = tiles_job(30, "auto");
  job.set_objective("throughput");
  const TilePlanner planner(graph_, boards(graph_, 2), job);
  const auto teams = planner.plan({1, 2});
  ASSERT_TRUE(teams.ok()) << teams.error().message;
  ASSERT_EQ(teams->teams.size(), 2u);
  for (const plan::TilePlan& team : teams->teams) EXPECT_EQ(team.devices().size(), 1u);
  EXPECT_NEAR(teams->rate(), 1.5 / teams->teams.front().period, 1e-9);
}

TEST_F(TilePlanning, ARankThatWasNotMeasuredIsLikeTheFirst) {
  const auto teams = planner_.plan({1, 7});
  ASSERT_TRUE(teams.ok()) << teams.error().message;
  EXPECT_EQ(teams->members(), (net::RankSet{1, 7}));
}

TEST_F(TilePlanning, ABoardThatHasBecomeSlowerTwiceGetsLess) {
  const TileTeams teams = *planner_.plan({1, 2});
  planner_.begin();
  EXPECT_FALSE(planner_.revise(teams, {1, 2}, std::nullopt)) << "nothing is measured";
  play_round(teams, 4);
  EXPECT_FALSE(planner_.revise(teams, {1, 2}, std::nullopt)) << "once may be noise";
  play_round(teams, 4);
  const auto revised = planner_.revise(teams, {1, 2}, std::nullopt);
  ASSERT_TRUE(revised);
  EXPECT_LT(2 * area_of(*revised, 2), area_of(*revised, 1));
}

TEST_F(TilePlanning, NothingChangesForTheLastMicroBatchesOrForNoise) {
  const TileTeams teams = *planner_.plan({1, 2});
  planner_.begin();
  for (int i = 0; i < 4; ++i) {
    play_round(teams, 1.2);
    EXPECT_FALSE(planner_.revise(teams, {1, 2}, std::nullopt)) << "no drift";
  }
  for (int i = 0; i < 4; ++i) {
    play_round(teams, 4);
    EXPECT_FALSE(planner_.revise(teams, {1, 2}, TilePlanner::kRound)) << "too few are left";
  }
}

}  // namespace
}  // namespace mangrove::infer
