#include "mangrove/cli/commands/bench_run.h"

#include <gtest/gtest.h>

namespace mangrove::cli {
namespace {

TEST(Doubts, OfOtherWorkAndOfAClockThatIsKeptLow) {
  Board board;
  board.cores = 4;
  board.usable_cores = 4;
  EXPECT_TRUE(doubts(board, std::nullopt).empty());
  EXPECT_TRUE(doubts(board, 1.9).empty());
  ASSERT_EQ(doubts(board, 2.1).size(), 1U);
  EXPECT_EQ(
      doubts(board, 2.1)[0],
      "other work was running when this began (load average 2.10, 4 cores): stop it and measure again a minute later");
  board.governor = "powersave";
  ASSERT_EQ(doubts(board, 0.1).size(), 1U);
  board.clock_driver = "intel_pstate";
  EXPECT_TRUE(doubts(board, 0.1).empty()) << "there the processor chooses its clock";
  board.clock_driver = "amd-pstate-epp";
  EXPECT_TRUE(doubts(board, 0.1).empty());
}

}  // namespace
}  // namespace mangrove::cli
