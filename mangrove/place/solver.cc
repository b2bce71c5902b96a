#include "mangrove/place/solver.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "mangrove/base/format.h"
#include "mangrove/place/solvers/rows.h"

namespace mangrove::place {
namespace {

constexpr SolverRow kSolvers[] = {
    {"auto", "exact if the scenario is small enough, else decomposition", solve_auto},
    {"exact", "a mixed-integer linear program, with proof or gap", solve_exact},
    {"decomposition", "the best for a few parts at a time, again and again", solve_decomposition},
    {"federated", "domains that bid for tasks and tell nothing else", solve_federated, /*needs_domains=*/true},
    {"local_search", "simulated annealing from greedy and heft", solve_local_search},
    {"heft", "each task where it is done earliest (Topcuoglu 2002)", solve_heft},
    {"greedy", "each task where the objective grows least", solve_greedy},
    {"even", "as many tasks on each device as on any other", solve_even},
};

/// Why no placement can exist, where a part has no device at all; empty: each has one.
std::string why_impossible(const Problem& problem) {
  for (std::size_t p = 0; p < problem.parts().size(); ++p) {
    if (!problem.parts()[p].candidates->empty()) continue;
    std::map<std::string, std::int64_t> reasons;
    const auto& devices = problem.scenario().devices;
    if (const auto& pinned = problem.task(p).device)
      return fmt::format("{} cannot be on {}, where it must be: {}", problem.part_name(p), devices[*pinned].name,
                         problem.why_not(p, *pinned));
    for (std::size_t d = 0; d < devices.size(); ++d) ++reasons[problem.why_not(p, d)];
    std::string text;
    for (const auto& [reason, count] : reasons)
      if (std::size(reasons) <= 4 ||
          count == std::ranges::max_element(reasons, {}, [](const auto& r) { return r.second; })->second)
        text += fmt::format("{}{} ({})", text.empty() ? "" : "; ", reason, format_things(count, "device"));
    return fmt::format("{} can be on no device: {}", problem.part_name(p), text);
  }
  return "";
}

}  // namespace

bool SolverRow::applies(const Problem& problem) const {
  return !needs_domains ||
         std::ranges::any_of(problem.scenario().devices, [](const Device& device) { return !device.domain.empty(); });
}

Result<Solution> SolverRow::solve(const Problem& problem, const SolveOptions& options) const {
  if (!applies(problem))
    return make_error(Code::failed_precondition,
                      fmt::format("the solver '{}' is for devices in domains: no device has a key 'domain'", name));
  if (std::string why = why_impossible(problem); !why.empty())
    return Solution{Solution::Outcome::infeasible, {}, std::nullopt, std::move(why)};
  return search(problem, options);
}

std::span<const SolverRow> solvers() {
  return kSolvers;
}

}  // namespace mangrove::place
