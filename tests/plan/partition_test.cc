#include "mangrove/plan/partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "mangrove/base/random.h"

namespace mangrove::plan {
namespace {

std::vector<double> stage_costs(const std::vector<double>& costs, const std::vector<double>& cuts,
                                const std::vector<std::size_t>& begins) {
  std::vector<double> sums;
  for (std::size_t s = 0; s < begins.size(); ++s) {
    const std::size_t last = s + 1 < begins.size() ? begins[s + 1] : costs.size();
    double sum = 0;
    for (std::size_t i = begins[s]; i < last; ++i) sum += costs[i];
    if (!cuts.empty() && s > 0) sum += cuts[begins[s]];
    if (!cuts.empty() && last < costs.size()) sum += cuts[last];
    sums.push_back(sum);
  }
  return sums;
}

/// Every way to cut, tried one after the other: the least (bottleneck, costs of the stages in order).
struct BruteForce {
  const std::vector<double>& costs;
  const std::vector<double>& cuts;
  double bottleneck = std::numeric_limits<double>::infinity();
  std::vector<double> sums;

  void search(std::vector<std::size_t> begins, std::size_t stages) {
    if (begins.size() == stages) {
      const std::vector<double> found = stage_costs(costs, cuts, begins);
      const double worst = *std::max_element(found.begin(), found.end());
      if (worst < bottleneck || (worst == bottleneck && found < sums)) {
        bottleneck = worst;
        sums = found;
      }
      return;
    }
    for (std::size_t next = begins.back() + 1; next < costs.size(); ++next) {
      begins.push_back(next);
      search(begins, stages);
      begins.pop_back();
    }
  }
};

// Whole numbers, so that sums are exact in any order.
std::vector<double> random_costs(Random& random, std::size_t n, std::uint64_t low) {
  std::vector<double> costs(n);
  for (double& cost : costs) cost = static_cast<double>(low + random.below(12));
  return costs;
}

TEST(PartitionChain, EqualsBruteForceOnRandomChains) {
  Random random(7);
  for (int round = 0; round < 400; ++round) {
    const std::size_t n = 1 + random.below(9);
    const std::size_t stages = 1 + random.below(n);
    // Costs of at least 1 and free cuts, or any costs with cut costs: there two ends of a stage may cost the same.
    const bool with_cuts = round % 2 == 1;
    const std::vector<double> costs = random_costs(random, n, with_cuts ? 0 : 1);
    const std::vector<double> cuts = with_cuts ? random_costs(random, n, 0) : std::vector<double>();
    Result<Partition> partition = partition_chain(costs, stages, cuts);
    ASSERT_TRUE(partition.ok()) << partition.error().message;
    ASSERT_EQ(partition->stages(), stages);
    ASSERT_EQ(partition->begins.front(), 0u);
    for (std::size_t s = 1; s < stages; ++s) ASSERT_LT(partition->begins[s - 1], partition->begins[s]);
    ASSERT_LT(partition->begins.back(), n);

    BruteForce expected{costs, cuts, std::numeric_limits<double>::infinity(), {}};
    expected.search({0}, stages);
    const std::vector<double> found = stage_costs(costs, cuts, partition->begins);
    EXPECT_EQ(partition->bottleneck, expected.bottleneck) << "round " << round;
    EXPECT_EQ(*std::max_element(found.begin(), found.end()), expected.bottleneck) << "round " << round;
    EXPECT_EQ(found.front(), expected.sums.front()) << "round " << round;
    if (!with_cuts) {
      EXPECT_EQ(found, expected.sums) << "round " << round;
    }
  }
}

TEST(PartitionChain, ATransferThatCostsMovesTheCut) {
  // Balanced by compute alone the cut is in the middle, where the transfer costs most.
  Result<Partition> free = partition_chain(std::vector<double>{2, 2, 2, 2}, 2);
  Result<Partition> dear = partition_chain(std::vector<double>{2, 2, 2, 2}, 2, std::vector<double>{0, 0, 9, 1});
  ASSERT_TRUE(free.ok() && dear.ok());
  EXPECT_EQ(free->begins, (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(dear->begins, (std::vector<std::size_t>{0, 1}));
}

TEST(PartitionChain, FreeOperatorsGoWithTheShortestStage) {
  Result<Partition> partition = partition_chain(std::vector<double>{3, 0, 3}, 2);
  ASSERT_TRUE(partition.ok());
  EXPECT_EQ(partition->begins, (std::vector<std::size_t>{0, 1}));
}

struct BadCase {
  const char* name;
  std::vector<double> costs;
  std::size_t stages;
  std::vector<double> cuts;
  const char* message;
};

class PartitionRefuses : public testing::TestWithParam<BadCase> {};

TEST_P(PartitionRefuses, SayingWhy) {
  Result<Partition> partition = partition_chain(GetParam().costs, GetParam().stages, GetParam().cuts);
  ASSERT_FALSE(partition.ok());
  EXPECT_EQ(partition.code(), Code::invalid_argument);
  EXPECT_NE(partition.error().message.find(GetParam().message), std::string::npos) << partition.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    Chain, PartitionRefuses,
    testing::Values(BadCase{"no_stages", {1, 2}, 0, {}, "at least 1"},
                    BadCase{"more_stages_than_operators", {1, 2}, 3, {}, "3 stages cannot be cut from 2"},
                    BadCase{"no_operators", {}, 1, {}, "from 0 operators"},
                    BadCase{"negative_cost", {1, -2}, 1, {}, "not negative"},
                    BadCase{"not_a_number", {1, std::nan("")}, 1, {}, "must be a number"},
                    BadCase{"cut_costs_of_other_length", {1, 2}, 1, {1}, "got 1 for 2"}),
    [](const auto& suite) { return std::string(suite.param.name); });

}  // namespace
}  // namespace mangrove::plan
