#include "mangrove/place/evaluation.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "mangrove/place/latency_bound.h"
#include "mangrove/place/scenario_file.h"
#include "mangrove/place/solver.h"

namespace mangrove::place {
namespace {

Scenario parsed(const std::string& text) {
  auto scenario = parse_scenario(text, "s.yaml");
  EXPECT_TRUE(scenario.ok()) << scenario.error().message;
  return scenario.ok() ? *std::move(scenario) : Scenario();
}

// end - hub - cloud; the answer comes from an early exit or from the cloud
const std::string kExits = R"(
device end: {flops: 1e9, memory: 300MB, price: 0, idle_watts: 1, watts: 2, failure: 0.1}
device hub: {flops: 2e9, cores: 2, price: 1, idle_watts: 5, watts: 10, failure: 0.2}
device cloud: {flops: 1e10, price: 4, idle_watts: 50, watts: 100, failure: 0.5}
link end - hub: {rate: 8mbit, delay: 10ms, price: 1}
link hub - cloud: {rate: 80mbit, delay: 40ms, price: 2}
service s: {rate: 2, deadline: 1s}
task s/take: {operations: 1e8, device: end}
task s/first: {operations: 2e8, memory: 200MB}
task s/rest: {operations: 1e9, memory: 200MB}
task s/tell: {operations: 0, device: end, wait: any}
flow s/take - first: {bytes: 100kB}
flow s/first - rest: {bytes: 50kB, share: 0.25}
flow s/first - tell: {bytes: 1kB, share: 0.75}
flow s/rest - tell: {bytes: 1kB}
)";

TEST(Evaluation, AddsUpByHand) {
  const Problem problem(parsed(kExits));
  const Evaluation evaluation = evaluate(problem, {0, 1, 2, 0});
  ASSERT_TRUE(evaluation.is_feasible()) << evaluation.violations.front().what;
  const double take = 0.1, to_hub = 0.01 + 0.1, first = 0.1, to_cloud = 0.04 + 0.005, rest = 0.1;
  const double early = 0.01 + 0.001, late = 0.04 + 0.0001 + 0.01 + 0.001;
  EXPECT_NEAR(evaluation.measures.worst_latency, take + to_hub + first + to_cloud + rest + late, 1e-12);
  EXPECT_NEAR(evaluation.measures.latency, take + to_hub + first + 0.75 * early + 0.25 * (to_cloud + rest + late),
              1e-12);
  EXPECT_NEAR(evaluation.devices[0].cores, 0.2, 1e-12);
  EXPECT_NEAR(evaluation.devices[1].cores, 2 * 0.1 / 2, 1e-12);
  EXPECT_NEAR(evaluation.devices[2].cores, 0.5 * 0.1, 1e-12);
  EXPECT_NEAR(evaluation.links[0], 2 * 100e3 + 1.5 * 1e3 + 0.5 * 1e3, 1e-6);
  EXPECT_NEAR(evaluation.links[1], 0.5 * 50e3 + 0.5 * 1e3, 1e-6);
  EXPECT_NEAR(evaluation.measures.cost, 5 + (202e3 * 1 + 25.5e3 * 2) * 3600 / 1e9, 1e-9);
  EXPECT_NEAR(evaluation.measures.energy, 1 + 2 * 0.2 + 5 + 10 * 0.1 + 50 + 100 * 0.05, 1e-9);
  EXPECT_EQ(evaluation.measures.devices, 3);
  EXPECT_NEAR(evaluation.services[0].availability, 0.9 * 0.8 * 0.5, 1e-12);
}

bool says(const Evaluation& evaluation, const std::string& text) {
  return std::ranges::any_of(evaluation.violations, [&](const Violation& violation) {
    return violation.what.find(text) != std::string::npos;
  });
}

TEST(Evaluation, SaysWhatIsNotKept) {
  const Problem problem(parsed(kExits));
  const Evaluation full = evaluate(problem, {0, 0, 0, 0});  // both parts of the network on the small device
  EXPECT_TRUE(says(full, "memory of end: 400 MB, above 300 MB")) << full.violations.front().what;
  EXPECT_TRUE(says(full, "worst latency of s: 1.3 s, above 1.0 s"));
  EXPECT_TRUE(says(evaluate(problem, {1, 1, 1, 0}), "s/take cannot be on hub: it must be on end"));
}

TEST(Evaluation, KeepsLimitsAtTheWorstOfRanges) {
  std::string text = kExits;
  const auto put = [&text](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  put("{rate: 2,", "{rate: 2, peak: 9,");
  put("{rate: 8mbit, delay: 10ms,", "{rate: 8mbit, delay: 10ms, worst_rate: 4mbit, worst_delay: 60ms,");
  const Problem usual(parsed(kExits)), ranges(parsed(text));
  const Evaluation before = evaluate(usual, {0, 1, 2, 0}), worst = evaluate(ranges, {0, 1, 2, 0});
  EXPECT_DOUBLE_EQ(worst.measures.cost, before.measures.cost);
  EXPECT_DOUBLE_EQ(worst.measures.energy, before.measures.energy);
  EXPECT_DOUBLE_EQ(worst.measures.latency, before.measures.latency);
  // twice over the slow link, with 100 kB and 1 kB
  EXPECT_NEAR(worst.measures.worst_latency, before.measures.worst_latency + 2 * 0.05 + 101e3 / 1e6, 1e-12);
  EXPECT_TRUE(says(worst, "link end - hub: 7.27 Mbit/s, above 4.00 Mbit/s")) << worst.violations.front().what;
}

TEST(Evaluation, CountsCopiesLicencesAndGroups) {
  const Problem problem(parsed(R"(
device a: {failure: 0.1}
device b: {failure: 0.2}
device c: {failure: 0.3}
link a - b: {delay: 1ms}
link b - c: {delay: 1ms}
licence codec: {devices: 1}
service s: {failures: 1}
task s/take: {device: a}
task s/work: {licence: codec}
flow s/take - work: {}
service t: {}
task t/one: {apart: far}
task t/two: {apart: far}
)"));
  ASSERT_EQ(problem.parts().size(), 5u);  // take, work, t/one, t/two and the copy of work, in another order
  std::vector<std::size_t> works;
  for (std::size_t p = 0; p < problem.parts().size(); ++p)
    if (problem.task(p).name == "work") works.push_back(p);
  ASSERT_EQ(works.size(), 2u);
  Placement placement(5, 0);
  const Evaluation together = evaluate(problem, placement);
  EXPECT_TRUE(says(together, "2 copies of s are on a"));
  EXPECT_TRUE(says(together, "2 tasks of the group far are on a"));
  placement[works[0]] = 1;
  placement[works[1]] = 2;
  const Evaluation apart = evaluate(problem, placement);
  EXPECT_TRUE(says(apart, "licence codec: 2 devices, above 1"));
  EXPECT_FALSE(says(apart, "copies"));
  EXPECT_NEAR(apart.services[0].availability, 0.9 * (1 - 0.2 * 0.3), 1e-12);
}

TEST(Evaluation, SaysWhereThereIsNoWay) {
  const Problem problem(
      parsed("device a: {}\ndevice b: {}\nservice s: {}\ntask s/x: {device: a}\ntask s/y: {device: b}\n"
             "flow s/x - y: {bytes: 1kB}\n"));
  EXPECT_TRUE(says(evaluate(problem, {0, 1}), "have no way to each other"));
  EXPECT_EQ(why_late(problem), "");  // it has no deadline
}

TEST(Evaluation, KeepsFlowsInTheirZones) {
  std::string text = kExits;
  const auto put = [&text](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  put("link end - hub: {", "link end - hub: {zone: farm, ");
  put("flow s/first - rest: {", "flow s/first - rest: {zones: farm, ");
  const Problem problem(parsed(text));
  // rest may go from the hub to the end, but not over the link to the cloud, which has no zone
  EXPECT_TRUE(problem.can_go(problem.flows()[1], 1, 0));
  EXPECT_TRUE(problem.can_go(problem.flows()[1], 2, 2));
  EXPECT_FALSE(problem.can_go(problem.flows()[1], 1, 2));
  EXPECT_FALSE(problem.can_go(problem.flows()[1], 0, 2));
  EXPECT_TRUE(problem.can_go(problem.flows()[0], 0, 2));
  const Evaluation evaluation = evaluate(problem, {0, 1, 2, 0});
  ASSERT_EQ(evaluation.violations.size(), 1u);
  EXPECT_EQ(evaluation.violations[0].what,
            "what s/first sends s/rest would leave its zones on the way from hub to cloud");
  EXPECT_TRUE(evaluate(problem, {0, 2, 2, 0}).is_feasible());
}

TEST(Solvers, SayWhatStandsInTheWay) {
  const auto why = [](std::string text, const std::string& from, const std::string& to) {
    if (!from.empty()) text.replace(text.find(from), from.size(), to);
    const Problem problem(parsed(text));
    SolveOptions options;
    options.objective = *parse_objective("cost");
    for (const SolverRow& row : solvers())
      if (row.name == "exact") return row.solve(problem, options)->why;
    return std::string("no solver");
  };
  EXPECT_EQ(why(kExits, "deadline: 1s", "deadline: 100ms"),
            "s takes at least 431 ms, even alone on the best devices; its deadline is 100 ms");
  EXPECT_EQ(why(kExits, "rest: {operations: 1e9", "rest: {needs: gpu, operations: 1e9"),
            "s/rest can be on no device: it needs gpu (3 devices)");
  EXPECT_EQ(why(kExits, "rest: {operations: 1e9, memory: 200MB", "rest: {operations: 3e9, memory: 200MB, device: end"),
            "s/rest cannot be on end, where it must be: it would load it with 150 %, above 100 %");
}

}  // namespace
}  // namespace mangrove::place
