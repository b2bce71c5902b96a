// The scenarios of examples/placement against the optima that are kept beside them.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tests/paths.h"

#include "mangrove/base/config_file.h"
#include "mangrove/place/evaluation.h"
#include "mangrove/place/scenario_file.h"
#include "mangrove/place/solver.h"

namespace mangrove::place {
namespace {

const std::string kInstances = mangrove::testing::repository_path("examples/placement");

struct Optimum {
  std::string scenario, objective;
  double least = 0;
};

std::vector<Optimum> optima() {
  std::vector<Optimum> all;
  const auto file = ConfigFile::load(kInstances + "/results/optima.yaml", {"list of optima", {}, "tomato-farm cost"});
  EXPECT_TRUE(file.ok()) << file.error().message;
  if (!file.ok()) return all;
  for (const ConfigFile::Section& section : file->sections()) {
    Optimum& optimum = all.emplace_back();
    const std::size_t space = section.name.find(' ');
    optimum.scenario = section.name.substr(0, space);
    optimum.objective = section.name.substr(space + 1);
    Keys keys;
    keys.add("least", optimum.least, "value of the objective");
    EXPECT_TRUE(file->apply(section, keys).ok());
  }
  return all;
}

TEST(Instances, HaveTheOptimaThatAreKept) {
  std::size_t checked = 0;
  for (const Optimum& optimum : optima()) {
    auto scenario = load_scenario(kInstances + "/" + optimum.scenario + ".yaml");
    ASSERT_TRUE(scenario.ok()) << scenario.error().message;
    const Problem problem(*std::move(scenario));
    SolveOptions options;
    options.objective = *parse_objective(optimum.objective);
    const std::string what = optimum.scenario + " " + optimum.objective;
    for (const SolverRow& row : solvers()) {
      // all but exact only so that no heuristic finds less than what was proven
      const bool is_exact = row.name == "exact";
      const bool is_federated = row.needs_domains && what == "three-owners latency";  // others take longer
      if (!is_exact && !is_federated && row.name != "local_search" && row.name != "greedy" && row.name != "heft")
        continue;
      const auto found = row.solve(problem, options);
      ASSERT_TRUE(found.ok()) << what;
      ASSERT_TRUE(!is_exact || found->outcome == Solution::Outcome::optimal) << what;
      if (found->placement.empty()) continue;
      const Evaluation evaluation = evaluate(problem, found->placement);
      EXPECT_TRUE(evaluation.is_feasible()) << what;
      const double value = values_of(options.objective, evaluation.measures)[0];
      const double rounding = 1e-5 * std::abs(optimum.least) + 1e-9;
      EXPECT_GE(value, optimum.least - rounding) << what << " by " << row.name;
      EXPECT_TRUE(!is_exact || value <= optimum.least + rounding) << what << ": " << value;
      EXPECT_TRUE(!is_federated || value <= 1.05 * optimum.least + rounding) << what << ": " << value;
      EXPECT_LE(*found->bound, optimum.least + rounding) << what << " by " << row.name;
      ++checked;
    }
  }
  EXPECT_GE(checked, 60u);
}

TEST(Instances, LargeOnesAreSolvedToo) {
  auto scenario = load_scenario(kInstances + "/city-200.yaml");
  ASSERT_TRUE(scenario.ok()) << scenario.error().message;
  const Problem problem(*std::move(scenario));
  SolveOptions options;
  options.objective = *parse_objective("energy");
  options.time_limit = 2;
  const auto found = solvers().front().solve(problem, options);
  ASSERT_TRUE(found.ok() && !found->placement.empty());
  const Evaluation evaluation = evaluate(problem, found->placement);
  EXPECT_TRUE(evaluation.is_feasible());
  EXPECT_LE(evaluation.measures.energy, 1.02 * *found->bound);
  EXPECT_TRUE(load_scenario(kInstances + "/city-2048.yaml").ok());
}

}  // namespace
}  // namespace mangrove::place
