#include "mangrove/place/milp.h"

#include <gtest/gtest.h>

#include <limits>

namespace mangrove::place {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

/// Most value within a weight: as a minimum of its negative.
Milp knapsack() {
  Milp milp;
  const std::vector<std::pair<double, double>> things = {{10, 5}, {13, 7}, {7, 3}, {4, 2}, {9, 6}};
  Milp::Terms weights, costs;
  for (const auto& [value, weight] : things) {
    const int column = milp.add_column(0, 1, true);
    weights.emplace_back(column, weight);
    costs.emplace_back(column, -value);
  }
  milp.set_costs(costs);
  milp.add_row(weights, -kNoLimit, 12);
  return milp;
}

TEST(Milp, FindsTheBestAndProvesIt) {
  ::testing::internal::CaptureStdout();
  const Milp::Solution solution = knapsack().solve({}, {.time = 10, .stop = {}});
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  ASSERT_EQ(solution.outcome, Milp::Outcome::optimal);
  EXPECT_NEAR(solution.objective, -24, 1e-6);  // 13 + 7 + 4
  EXPECT_NEAR(solution.bound, -24, 1e-6);
}

TEST(Milp, BeginsWithASolution) {
  ::testing::internal::CaptureStdout();
  const Milp::Solution solution = knapsack().solve({{0, 1}, {1, 0}, {2, 1}, {3, 1}, {4, 0}}, {.time = 10, .stop = {}});
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  ASSERT_EQ(solution.outcome, Milp::Outcome::optimal);
  EXPECT_NEAR(solution.objective, -24, 1e-6);
}

TEST(Milp, BoundHoldsWhateverGapIsAllowed) {
  for (const double gap : {1e-9, 0.01, 0.3, 0.6}) {
    const Milp::Solution solution = knapsack().solve({}, {.time = 10, .stop = {}, .gap = gap});
    ASSERT_EQ(solution.outcome, Milp::Outcome::optimal) << gap;
    EXPECT_LE(solution.bound, -24 + 1e-6) << gap;
    EXPECT_GE(solution.objective, -24 - 1e-6) << gap;
    EXPECT_LE(solution.objective, -24 * (1 - gap) + 1e-6) << gap;
  }
}

TEST(Milp, RelaxesToFractionsAndPrices) {
  const Milp::Relaxed relaxed = knapsack().solve_relaxed({});
  ASSERT_TRUE(relaxed.is_solved);
  // by value for weight: 7/3, 2, 2, then 2/7 of 13/7
  EXPECT_NEAR(relaxed.objective, -(7 + 10 + 4 + 13 * 2.0 / 7), 1e-6);
  EXPECT_NEAR(relaxed.values[1], 2.0 / 7, 1e-6);
  ASSERT_EQ(relaxed.duals.size(), 1u);
  EXPECT_NEAR(relaxed.duals[0], -13.0 / 7, 1e-6);
}

TEST(Milp, SaysWhatCannotBe) {
  Milp milp;
  const int x = milp.add_column(0, 1, true), y = milp.add_column(0, 1, true);
  milp.add_row({{x, 1}, {y, 1}}, 3, kNoLimit);
  EXPECT_EQ(milp.solve({}, {.time = 10, .stop = {}}).outcome, Milp::Outcome::infeasible);
  Milp halves;
  const int h = halves.add_column(0, 1, true);
  halves.add_row({{h, 2}}, 1, 1);
  EXPECT_EQ(halves.solve({}, {.time = 10, .stop = {}}).outcome, Milp::Outcome::infeasible);
}

}  // namespace
}  // namespace mangrove::place
