#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "mangrove/base/clock.h"
#include "mangrove/base/format.h"
#include "mangrove/base/suggestion.h"
#include "mangrove/place/latency_bound.h"
#include "mangrove/place/placement_milp.h"
#include "mangrove/place/solvers/common.h"
#include "mangrove/place/solvers/rows.h"

namespace mangrove::place {
namespace {

constexpr double kLargestExact = 400'000;
constexpr Seconds kExplaining = 10;  // for each constraint that is left out
constexpr double kHeadroom = 1e-7;   // of a level's best, for the levels behind it

/// Which constraint stands in the way: one without which there is a placement.
std::string explain(const Problem& problem, const std::stop_token& stop) {
  if (std::string why = why_late(problem); !why.empty()) return why;
  struct Class {
    const char* name;
    LeftOut left_out;
  };
  const Class classes[] = {{"deadlines", {.deadlines = true}},
                           {"the limits of cores and accelerators", {.cores = true}},
                           {"the limits of memory", {.memory = true}},
                           {"the rates of links", {.links = true}},
                           {"licences", {.licences = true}},
                           {"groups that lie apart", {.apart = true}},
                           {"copies that share no device", {.failures = true}},
                           {"the zones of flows", {.zones = true}},
                           {"the limit of moves", {.moves = true}}};
  const Objective nothing{{Objective::Level()}};
  std::vector<std::string> names;
  for (const Class& one : classes) {
    PlacementMilp milp(problem, nothing, problem.candidates(), one.left_out);
    if (milp.is_infeasible()) continue;
    const auto result = milp.solve(0, 1, {}, {kExplaining, stop});
    if (!result.placement.empty()) names.emplace_back(one.name);
  }
  if (names.empty()) return "no placement keeps all constraints, nor all but those of one kind";
  return "no placement keeps all constraints; there is one without " +
         (names.size() == 1 ? names.front() : "any one of these: " + join_words(names));
}

class Exact {
 public:
  Exact(const Problem& problem, const SolveOptions& options) : problem_(problem), options_(options) {}

  Solution run() {
    const Deadline end = clock_.after(options_.time_limit);
    const bool has_start = find_start();
    PlacementMilp milp(problem_, options_.objective, problem_.candidates());
    if (milp.is_infeasible()) return none_exists();
    for (std::size_t level = 0; level < options_.objective.levels.size(); ++level) {
      const double scale = made_.placement.empty() ? 1 : best_values_[level];
      const PlacementMilp::Result result =
          milp.solve(level, scale, made_.placement, {end - clock_.now(), options_.stop});
      if (result.outcome == Milp::Outcome::infeasible && !has_start && level == 0) return none_exists();
      take(result.placement);
      if (level == 0 && std::isfinite(result.bound) && std::abs(result.bound) < 1e30)
        made_.bound = std::max(*made_.bound, result.bound);
      if (made_.placement.empty()) {
        made_.why = fmt::format("no placement was found within {}", format_seconds(options_.time_limit));
        return std::move(made_);
      }
      if (result.outcome != Milp::Outcome::optimal) return std::move(made_);
      if (level == 0) made_.bound = std::min(*made_.bound, best_values_[0]);
      milp.limit(level, best_values_[level] + kHeadroom * std::abs(best_values_[level]));
    }
    made_.outcome = Solution::Outcome::optimal;
    return std::move(made_);
  }

 private:
  /// A placement to begin with, by local search in a tenth of the time.
  bool find_start() {
    SolveOptions short_of_time = options_;
    short_of_time.time_limit = options_.time_limit / 10;
    const Result<Solution> found = solve_local_search(problem_, short_of_time);
    made_.bound = simple_bound(problem_, options_.objective);
    if (found.ok()) take(found->placement);
    return !made_.placement.empty();
  }

  Solution none_exists() const {
    return {Solution::Outcome::infeasible, {}, std::nullopt, explain(problem_, options_.stop)};
  }

  /// Keeps a placement that is better than the best so far.
  void take(const Placement& placement) {
    if (placement.empty()) return;
    const Evaluation evaluation = evaluate(problem_, placement);
    if (!evaluation.is_feasible()) return;
    std::vector<double> values = values_of(options_.objective, evaluation.measures);
    if (!made_.placement.empty() && !is_better(values, best_values_)) return;
    made_.placement = placement;
    made_.outcome = Solution::Outcome::feasible;
    best_values_ = std::move(values);
  }

  const Problem& problem_;
  const SolveOptions& options_;
  const SteadyClock clock_;
  Solution made_;
  std::vector<double> best_values_;
};

}  // namespace

Result<Solution> solve_exact(const Problem& problem, const SolveOptions& options) {
  if (const double size = PlacementMilp::size_of(problem, problem.candidates()); size > kLargestExact)
    return make_error(
        Code::resource_exhausted,
        fmt::format("the solver 'exact' takes {} columns at most, this scenario has {}: use 'decomposition'",
                    format_count(static_cast<std::int64_t>(kLargestExact)), format_number(size)));
  return Exact(problem, options).run();
}

}  // namespace mangrove::place
