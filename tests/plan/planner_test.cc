#include "mangrove/plan/planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/plan/every_plan.h"
#include "tests/plan/small_problems.h"

namespace mangrove::plan {
namespace {

using testing::chain_problem;
using testing::random_problem;
using testing::Shape;

double cost_of(const Plan& plan, Objective objective) {
  if (objective == Objective::latency) return plan.latency;
  return objective == Objective::energy ? plan.joules : plan.period;
}

struct Best {
  double cost = std::numeric_limits<double>::infinity();
  std::size_t devices = 0;  // the fewest with this cost
};

Best brute_force(const Problem& problem) {
  const auto kinds = interchangeable(problem);
  const auto kind_of = [&](std::size_t device) {
    return std::ranges::find_if(kinds, [&](const auto& kind) { return std::ranges::count(kind, device) > 0; });
  };
  // with ways, only the whole network may be on devices of several kinds
  const auto allowed = [&](const Part& part) {
    return problem.ways.empty() || part.layers.size() == problem.network.layers.size() ||
           std::ranges::all_of(part.devices,
                               [&](std::size_t d) { return kind_of(d) == kind_of(part.devices.front()); });
  };
  Best best;
  testing::for_every_plan(problem, allowed, [&](const std::vector<Part>& parts) {
    const Result<Plan> plan = price(problem, parts);
    if (!plan.ok()) return;
    const double cost = cost_of(*plan, problem.objective);
    const bool is_better = std::isinf(best.cost) || cost < best.cost * (1 - 1e-9);
    if (!is_better && cost > best.cost * (1 + 1e-9)) return;
    best.devices = is_better ? plan->devices() : std::min(best.devices, plan->devices());
    best.cost = std::min(best.cost, cost);
  });
  return best;
}

TEST(Planner, KeepsToSoManyDevices) {
  Random random(41);
  int possible = 0;
  for (int round = 0; round < 60; ++round) {
    const Problem problem =
        random_problem(random, {.layers = 5, .devices = 4, .is_chain = round % 2 == 0, .most_replicas = 1});
    for (std::size_t devices = 1; devices <= 4; ++devices) {
      const auto any = [](const Part&) { return true; };
      double best = std::numeric_limits<double>::infinity();
      testing::for_every_plan(problem, any, [&](const std::vector<Part>& parts) {
        if (parts.size() != devices) return;
        const Result<Plan> plan = price(problem, parts);
        if (plan.ok()) best = std::min(best, plan->period);
      });
      const Result<Plan> plan = make_plan(problem, {.least = devices, .most = devices});
      ASSERT_EQ(plan.ok(), std::isfinite(best)) << "round " << round;
      if (!plan.ok()) continue;
      ++possible;
      ASSERT_EQ(plan->devices(), devices) << "round " << round;
      ASSERT_NEAR(plan->period, best, 2e-9 * best) << "round " << round << ", " << devices << " devices";
    }
  }
  EXPECT_GT(possible, 100);
}

struct PlannerCase {
  const char* name;
  Shape shape;
  Objective objective;
  std::uint64_t seed;
  int rounds;
};

class PlannerIsOptimal : public ::testing::TestWithParam<PlannerCase> {};

TEST_P(PlannerIsOptimal, OnRandomProblems) {
  Random random(GetParam().seed);
  int impossible = 0, several = 0, replicated = 0;
  for (int round = 0; round < GetParam().rounds; ++round) {
    Problem problem = random_problem(random, GetParam().shape);
    problem.objective = GetParam().objective;
    const Best best = brute_force(problem);
    const Result<Plan> plan = make_plan(problem);
    ASSERT_EQ(plan.ok(), std::isfinite(best.cost))
        << "round " << round << ": " << (plan.ok() ? "brute force found none" : plan.error().message);
    if (!plan.ok()) {
      EXPECT_EQ(plan.code(), Code::resource_exhausted);
      ++impossible;
      continue;
    }
    const double cost = cost_of(*plan, problem.objective);
    ASSERT_NEAR(cost, best.cost, 2e-9 * best.cost) << "round " << round;
    ASSERT_EQ(plan->devices(), best.devices) << "round " << round;
    ASSERT_TRUE(plan->caveat.empty() || !problem.ways.empty()) << "round " << round << ": " << plan->caveat;
    several += plan->stages.size() > 1 ? 1 : 0;
    replicated += std::ranges::any_of(plan->stages, [](const Stage& s) { return s.devices.size() > 1; }) ? 1 : 0;
  }
  // the problems are worth trying
  EXPECT_LT(impossible, GetParam().rounds * 3 / 4);
  EXPECT_TRUE(GetParam().objective != Objective::throughput || several + replicated > GetParam().rounds / 4);
}

INSTANTIATE_TEST_SUITE_P(
    Against, PlannerIsOptimal,
    ::testing::Values(
        PlannerCase{"chains", {.layers = 6, .devices = 3}, Objective::throughput, 1, 150},
        PlannerCase{
            "chains_without_replicas", {.layers = 6, .devices = 4, .most_replicas = 1}, Objective::throughput, 2, 150},
        PlannerCase{"branches", {.layers = 5, .devices = 3, .is_chain = false}, Objective::throughput, 3, 150},
        PlannerCase{"branches_without_replicas",
                    {.layers = 5, .devices = 3, .is_chain = false, .most_replicas = 1},
                    Objective::throughput,
                    4,
                    200},
        PlannerCase{"pairs_of_devices",
                    {.layers = 5, .devices = 4, .is_chain = false, .kinds = 2},
                    Objective::throughput,
                    5,
                    60},
        PlannerCase{"memory",
                    {.layers = 5, .devices = 3, .is_chain = false, .has_memory = true},
                    Objective::throughput,
                    6,
                    150},
        PlannerCase{
            "links", {.layers = 5, .devices = 3, .is_chain = false, .has_links = true}, Objective::throughput, 7, 200},
        PlannerCase{"memory_and_links",
                    {.layers = 5, .devices = 3, .is_chain = false, .has_memory = true, .has_links = true},
                    Objective::throughput,
                    8,
                    200},
        PlannerCase{"ways",
                    {.layers = 5, .devices = 4, .kinds = 3, .has_links = true, .has_ways = true},
                    Objective::throughput,
                    9,
                    100},
        PlannerCase{"ways_without_replicas",
                    {.layers = 5, .devices = 4, .most_replicas = 1, .has_ways = true},
                    Objective::throughput,
                    14,
                    300},
        PlannerCase{
            "training",
            {.layers = 5, .devices = 3, .is_chain = false, .has_memory = true, .has_links = true, .is_training = true},
            Objective::throughput,
            10,
            150},
        PlannerCase{"latency",
                    {.layers = 5, .devices = 3, .is_chain = false, .has_memory = true, .has_links = true},
                    Objective::latency,
                    11,
                    150},
        PlannerCase{"latency_with_ways",
                    {.layers = 5, .devices = 3, .has_memory = true, .has_links = true, .has_ways = true},
                    Objective::latency,
                    12,
                    150},
        PlannerCase{"energy",
                    {.layers = 5, .devices = 3, .is_chain = false, .has_memory = true, .has_links = true},
                    Objective::energy,
                    13,
                    150}),
    [](const auto& suite) { return std::string(suite.param.name); });

TEST(Planner, LeavesOutADeviceThatDoesNotHelp) {
  // behind a link of 1 byte a second, where each layer's result has 100
  Problem problem = chain_problem({4, 4, 4, 4}, 3);
  problem.most_replicas = 1;
  problem.devices[2].rate = 1;
  const Plan plan = make_plan(problem).value();
  EXPECT_EQ(plan.devices(), 2u);
  EXPECT_DOUBLE_EQ(plan.period, 8);
  for (const Stage& stage : plan.stages) EXPECT_NE(stage.devices, (std::vector<std::size_t>{2}));
}

TEST(Planner, RelaysWhereTheDirectWayIsSlow) {
  // the last device could take the second layer too, but only the one in the middle gets anything from the first
  Problem problem = chain_problem({1, 1, 1}, 3);
  problem.most_replicas = 1;
  problem.devices[0].seconds = {1, 100, 100};
  problem.devices[1].seconds = {100, 1, 100};
  problem.devices[2].seconds = {100, 0.1, 0.9};
  problem.ways[{0, 2}] = {.rate = 1};
  const Plan plan = make_plan(problem).value();
  EXPECT_DOUBLE_EQ(plan.period, 1);
  EXPECT_EQ(plan.stages.size(), 3u);
  EXPECT_TRUE(plan.caveat.empty()) << plan.caveat;
}

TEST(Planner, IsNoWorseThanTheBestSingleDevice) {
  Random random(21);
  for (int round = 0; round < 30; ++round) {
    Problem problem =
        random_problem(random, {.layers = 8, .devices = 6, .is_chain = round % 2 == 0, .has_links = true});
    for (const Objective objective : {Objective::throughput, Objective::latency, Objective::energy}) {
      problem.objective = objective;
      const double cost = cost_of(make_plan(problem).value(), objective);
      Part all;
      for (std::size_t i = 0; i < problem.network.layers.size(); ++i) all.layers.push_back(i);
      for (std::size_t d = 0; d < problem.devices.size(); ++d) {
        all.devices = {d};
        EXPECT_LE(cost, cost_of(price(problem, {all}).value(), objective) * (1 + 1e-9));
      }
    }
  }
}

TEST(Planner, TriesTheWholeNetworkOnManyDifferentDevices) {
  Problem problem = chain_problem({1, 5, 1, 3}, 12);
  for (std::size_t d = 0; d < 12; ++d)
    for (Seconds& seconds : problem.devices[d].seconds) seconds *= static_cast<double>(1 + d);
  const Plan plan = make_plan(problem).value();
  double speed = 0;
  for (std::size_t d = 0; d < 12; ++d) speed += 1.0 / (10 * static_cast<double>(1 + d));
  EXPECT_NEAR(plan.period, 1 / speed, 1e-9);
  ASSERT_EQ(plan.stages.size(), 1u);
  ASSERT_EQ(plan.stages[0].busy_each.size(), 12u);
  for (std::size_t i = 0; i < 12; ++i)
    EXPECT_DOUBLE_EQ(plan.stages[0].busy_each[i], 10 * static_cast<double>(1 + plan.stages[0].devices[i]));
  EXPECT_DOUBLE_EQ(shared_period(plan.stages[0].busy_each), plan.period);
  EXPECT_EQ(shared_period(std::vector<Seconds>{3, 0}), 0) << "one takes no time";
}

TEST(Planner, RefusesMoreDifferentDevicesThanItCanTellApart) {
  Problem problem = chain_problem({1, 2}, 20);
  for (std::size_t d = 0; d < 20; ++d) problem.devices[d].rate = static_cast<double>(1 + d);
  EXPECT_EQ(make_plan(problem).code(), Code::unimplemented);
}

TEST(Planner, SaysTheLeastMemoryThatWouldDo) {
  Problem problem = chain_problem({1, 1, 1, 1}, 2);
  for (Layer& layer : problem.network.layers) layer.parameters = 50'000'000;
  for (Device& device : problem.devices) device.memory = 60'000'000;
  const Result<Plan> plan = make_plan(problem);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.code(), Code::resource_exhausted);
  // two layers, their values and messages of 100 bytes: a little over 100 MB, told in whole MB
  EXPECT_NE(plan.error().message.find("with 101 MB on each device"), std::string::npos) << plan.error().message;
  for (Device& device : problem.devices) device.memory = 101'000'000;
  EXPECT_TRUE(make_plan(problem).ok());
  for (Device& device : problem.devices) device.memory = 100'000'000;
  EXPECT_FALSE(make_plan(problem).ok());
}

TEST(Planner, FindsNothingWhereNothingFits) {
  Problem problem = chain_problem({1, 1, 1, 1}, 2);
  for (Layer& layer : problem.network.layers) layer.parameters = kMostBytes;
  for (Device& device : problem.devices) device.memory = 1'000;
  const auto none = find_plan(problem);
  ASSERT_TRUE(none.ok()) << none.error().message;
  EXPECT_FALSE(*none);
  EXPECT_EQ(make_plan(problem, {.least = 2}).code(), Code::resource_exhausted);
  // more than memory can be counted in
  problem.training = true;
  problem.schedule.copies = 1e12;
  const Result<Plan> plan = make_plan(problem);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.code(), Code::resource_exhausted);
  EXPECT_NE(plan.error().message.find("however much memory"), std::string::npos) << plan.error().message;
}

TEST(Planner, KeepsAsManyMicroBatchesInFlightAsKeepTheSlowestStageBusy) {
  Problem problem = chain_problem({2, 2, 2}, 3);
  problem.most_replicas = 1;
  EXPECT_EQ(make_plan(problem)->in_flight, 3u);
  for (Device& device : problem.devices) device.delay = 1;  // 2 between two of them, twice
  const Plan plan = make_plan(problem).value();
  EXPECT_DOUBLE_EQ(plan.latency, 10);
  EXPECT_EQ(plan.in_flight, 5u);
}

TEST(Advice, TellsWhyFewerDevicesLostAndWhatMoreWouldGive) {
  Problem problem = chain_problem({3, 1, 2}, 2);
  problem.most_replicas = 1;
  for (Device& device : problem.devices) device.rate = 1000;
  const Plan plan = make_plan(problem).value();
  EXPECT_DOUBLE_EQ(plan.period, 3);
  const Advice advice = advise(problem, plan).value();
  ASSERT_TRUE(advice.runner_up.has_value());
  EXPECT_EQ(advice.runner_up->devices(), 1u);
  EXPECT_EQ(advice.why_it_lost, "with 1 device stage 1 needs 6.0 s for a micro-batch, here stage 1 3.0 s");
  ASSERT_TRUE(advice.faster_links.has_value());
  EXPECT_DOUBLE_EQ(advice.faster_links->period, 3);
  EXPECT_DOUBLE_EQ(advice.one_more->period, 3);
  EXPECT_EQ(advice.one_more_kind, "d0");
}

TEST(Advice, ComparesASingleDeviceWithSeveral) {
  Problem problem = chain_problem({3, 3}, 2);
  problem.most_replicas = 1;
  for (Device& device : problem.devices) device.rate = 10;  // 10 seconds for a value
  const Plan plan = make_plan(problem).value();
  EXPECT_EQ(plan.devices(), 1u);
  const Advice advice = advise(problem, plan).value();
  EXPECT_EQ(advice.runner_up->devices(), 2u);
  EXPECT_DOUBLE_EQ(advice.runner_up->period, 10);
  EXPECT_DOUBLE_EQ(advice.faster_links->period, 5);
}

TEST(Advice, IsWithoutOneMoreDeviceWhereThatIsTooMany) {
  Problem problem = chain_problem({1, 2}, 17);
  for (std::size_t d = 0; d < 17; ++d) problem.devices[d].rate = static_cast<double>(1000 + d);
  const auto advice = advise(problem, make_plan(problem).value());
  ASSERT_TRUE(advice.ok()) << advice.error().message;
  EXPECT_FALSE(advice->one_more.has_value());
}

TEST(Advice, GivesTheAddedDeviceTheWaysOfItsKind) {
  Problem problem = chain_problem({3, 3}, 2);
  problem.most_replicas = 1;
  problem.ways[{0, 1}] = {.rate = 25};  // 4 seconds for a value
  const Advice advice = advise(problem, make_plan(problem).value()).value();
  ASSERT_TRUE(advice.one_more.has_value());
  EXPECT_DOUBLE_EQ(advice.one_more->period, 4);  // 3 if the third one had a fast way to one of them
}

struct BadProblem {
  const char* name;
  void (*spoil)(Problem&);
  const char* says;
};

class PlannerRefuses : public ::testing::TestWithParam<BadProblem> {};

TEST_P(PlannerRefuses, SayingWhy) {
  Problem problem = chain_problem({1, 2}, 2);
  GetParam().spoil(problem);
  const Result<Plan> plan = make_plan(problem);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.code(), Code::invalid_argument);
  EXPECT_NE(plan.error().message.find(GetParam().says), std::string::npos) << plan.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    Planner, PlannerRefuses,
    ::testing::Values(
        BadProblem{"no_layers", [](Problem& p) { p.network.layers.clear(); }, "no layers"},
        BadProblem{"no_devices", [](Problem& p) { p.devices.clear(); }, "no device"},
        BadProblem{"no_end", [](Problem& p) { p.devices[0].reserved = 9'000'000'000'000'000'000; }, "bounds"},
        BadProblem{"too_slow", [](Problem& p) { p.devices[0].rate = 1e-300; }, "bounds"},
        BadProblem{"too_long", [](Problem& p) { p.devices[0].seconds[0] = 1e308; }, "1e9"},
        BadProblem{"too_large", [](Problem& p) { p.network.flows[0].bytes = kMostBytes + 1; }, "1 TB"},
        BadProblem{"times", [](Problem& p) { p.devices[1].seconds.pop_back(); }, "device 'd1': times of 1 layers"},
        BadProblem{"negative", [](Problem& p) { p.devices[0].seconds[0] = -1; }, "device 'd0'"},
        BadProblem{"backwards", [](Problem& p) { p.network.flows[1].to = {0}; }, "not behind it"},
        BadProblem{"no_watts", [](Problem& p) { p.objective = Objective::energy; }, "no watts"},
        BadProblem{"way",
                   [](Problem& p) {
                     p.ways[{1, 1}] = {};
                   },
                   "between two devices"},
        BadProblem{"training",
                   [](Problem& p) {
                     p.training = true;
                     p.objective = Objective::latency;
                   },
                   "throughput only"}),
    [](const auto& suite) { return std::string(suite.param.name); });

}  // namespace
}  // namespace mangrove::plan
