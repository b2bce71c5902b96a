#include <gtest/gtest.h>

#include <cmath>
#include <stop_token>

#include "tests/place/small_scenarios.h"

#include "mangrove/base/random.h"
#include "mangrove/place/solver.h"
#include "mangrove/place/state.h"

namespace mangrove::place {
namespace {

using mangrove::testing::best_by_trying_all;
using mangrove::testing::small_before;
using mangrove::testing::small_scenario;

const char* const kObjectives[] = {"cost",    "latency",      "worst_latency", "energy",
                                   "devices", "latency,cost", "devices,cost",  "cost+5*latency+0.01*energy"};

SolveOptions options_of(const std::string& objective) {
  SolveOptions options;
  options.objective = *parse_objective(objective);
  options.time_limit = 30;
  return options;
}

const SolverRow& solver(std::string_view name) {
  for (const SolverRow& row : solvers())
    if (row.name == name) return row;
  ADD_FAILURE() << name;
  return solvers().front();
}

TEST(Solvers, ExactFindsWhatTryingAllFinds) {
  std::size_t solved = 0, impossible = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const Problem problem(small_scenario(seed));
    const SolveOptions options = options_of(kObjectives[seed % std::size(kObjectives)]);
    const Placement best = best_by_trying_all(problem, options.objective);
    const Solution found = *solver("exact").solve(problem, options);
    if (best.empty()) {
      EXPECT_EQ(found.outcome, Solution::Outcome::infeasible) << seed << ": " << found.why;
      EXPECT_FALSE(found.why.empty());
      ++impossible;
      continue;
    }
    ASSERT_EQ(found.outcome, Solution::Outcome::optimal) << seed << ": " << found.why;
    const Evaluation evaluation = evaluate(problem, found.placement);
    EXPECT_TRUE(evaluation.is_feasible()) << seed;
    const auto values = values_of(options.objective, evaluation.measures);
    const auto best_values = values_of(options.objective, evaluate(problem, best).measures);
    for (std::size_t level = 0; level < values.size(); ++level)
      EXPECT_NEAR(values[level], best_values[level], 1e-5 * std::abs(best_values[level])) << seed << " level " << level;
    EXPECT_NEAR(*found.bound, best_values[0], 1e-5 * std::abs(best_values[0])) << seed;
    ++solved;
  }
  EXPECT_GT(solved, 100u);
  EXPECT_GT(impossible, 20u);
}

TEST(Solvers, ExactMovesAsLittleAsIsSaid) {
  const std::string objectives[] = {"cost", "moves,cost", "cost+0.2*moves", "latency+0.01*moves"};
  std::size_t solved = 0, impossible = 0, moved = 0;
  for (std::uint64_t seed = 1; seed <= 160; ++seed) {
    Problem problem(small_scenario(seed));
    problem.set_before(small_before(problem, seed));
    const SolveOptions options = options_of(objectives[seed % std::size(objectives)]);
    const Placement best = best_by_trying_all(problem, options.objective);
    for (const char* name : {"exact", "local_search"}) {
      const Solution found = *solver(name).solve(problem, options);
      if (best.empty()) {
        EXPECT_TRUE(found.placement.empty()) << name << " " << seed;
        ++impossible;
        continue;
      }
      if (found.placement.empty() && name != std::string("exact")) continue;  // it may miss the only one
      const Evaluation evaluation = evaluate(problem, found.placement);
      EXPECT_TRUE(evaluation.is_feasible()) << name << " " << seed;
      if (name != std::string("exact")) continue;
      ++solved;
      moved += evaluation.measures.moves > 0 ? 1 : 0;
      ASSERT_EQ(found.outcome, Solution::Outcome::optimal) << seed << ": " << found.why;
      const auto values = values_of(options.objective, evaluation.measures);
      const auto best_values = values_of(options.objective, evaluate(problem, best).measures);
      for (std::size_t level = 0; level < values.size(); ++level)
        EXPECT_NEAR(values[level], best_values[level], 1e-5 * std::abs(best_values[level])) << seed << " " << level;
    }
  }
  EXPECT_GT(solved, 40u);
  EXPECT_GT(moved, 10u);
  EXPECT_GT(impossible, 10u);
}

TEST(Solvers, HeuristicsKeepConstraintsAndBounds) {
  for (const SolverRow& row : solvers()) {
    if (row.needs_domains) continue;  // federation_test.cc has them
    std::size_t solved = 0, possible = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      const Problem problem(small_scenario(seed));
      SolveOptions options = options_of(kObjectives[seed % std::size(kObjectives)]);
      options.time_limit = 5;
      const Placement best = best_by_trying_all(problem, options.objective);
      const Solution found = *row.solve(problem, options);
      possible += best.empty() ? 0 : 1;
      EXPECT_TRUE(!best.empty() || found.placement.empty()) << row.name << " " << seed;
      if (found.placement.empty()) continue;
      ++solved;
      const Evaluation evaluation = evaluate(problem, found.placement);
      EXPECT_TRUE(evaluation.is_feasible()) << row.name << " " << seed;
      const double least = values_of(options.objective, evaluate(problem, best).measures)[0];
      EXPECT_GE(values_of(options.objective, evaluation.measures)[0], least * (1 - 1e-5)) << row.name << " " << seed;
      EXPECT_LE(*found.bound, least * (1 + 1e-5)) << row.name << " " << seed;
    }
    EXPECT_GE(solved, row.name == "local_search" ? possible * 9 / 10 : possible / 4) << row.name;
  }
}

TEST(Solvers, SameSeedSamePlacement) {
  for (const SolverRow& row : solvers()) {
    if (row.needs_domains) continue;  // federation_test.cc has them
    const Problem problem(small_scenario(5));
    const SolveOptions options = options_of("cost");
    EXPECT_EQ(row.solve(problem, options)->placement, row.solve(problem, options)->placement) << row.name;
  }
}

TEST(Solvers, ReturnTheBestSoFarWhenStopped) {
  std::stop_source stopped;
  stopped.request_stop();
  for (const SolverRow& row : solvers()) {
    if (row.needs_domains) continue;  // federation_test.cc has them
    std::uint64_t seed = 1;           // of one that has a placement
    SolveOptions options = options_of("cost");
    while (best_by_trying_all(Problem(small_scenario(seed)), options.objective).empty()) ++seed;
    const Problem problem(small_scenario(seed));
    const Solution whole = *row.solve(problem, options);
    options.stop = stopped.get_token();
    const Solution found = *row.solve(problem, options);
    EXPECT_EQ(whole.placement.empty(), found.placement.empty()) << row.name;
    EXPECT_NE(found.outcome, Solution::Outcome::infeasible) << row.name;
  }
}

TEST(State, SaysWhatEvaluationSays) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Problem problem(small_scenario(seed));
    problem.set_before(small_before(problem, seed));
    Objective objective;
    for (const MeasureRow& row : measures()) objective.levels.push_back({{&row, 1}});
    State state(problem, objective);
    Random random(seed);
    bool can_be = true;
    for (std::size_t step = 0; step < 40 && can_be; ++step)
      for (std::size_t p = 0; p < problem.parts().size(); ++p) {
        const auto& candidates = *problem.parts()[p].candidates;
        can_be = can_be && !candidates.empty();
        if (can_be) state.put(p, candidates[random.below(candidates.size())]);
      }
    if (!can_be) continue;
    const Evaluation evaluation = evaluate(problem, state.placement());
    EXPECT_EQ(state.excess() == 0, evaluation.is_feasible()) << seed << " " << state.excess();
    if (!evaluation.is_feasible()) continue;
    const auto values = values_of(objective, evaluation.measures);
    for (std::size_t level = 0; level < values.size(); ++level)
      EXPECT_NEAR(state.value(level), values[level], 1e-9 * (1 + values[level])) << seed << " level " << level;
  }
}

}  // namespace
}  // namespace mangrove::place
