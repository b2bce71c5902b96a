#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/base/random.h"
#include "mangrove/place/choices.h"
#include "mangrove/place/latency_bound.h"
#include "mangrove/place/placement_milp.h"
#include "mangrove/place/solvers/common.h"
#include "mangrove/place/solvers/rows.h"

namespace mangrove::place {
namespace {

// source: Pochet & Wolsey, Production planning by mixed integer programming, 2006 (exchange: fix and optimize).
constexpr std::size_t kFree = 16;         // parts of a subproblem
constexpr double kMostSubcolumns = 6000;  // of a subproblem
constexpr Seconds kSubproblem = 3;        // for one
constexpr std::size_t kDevices = 10;      // that a free part may be on
constexpr std::size_t kMostInVain = 40;   // subproblems one after the other that change nothing

class Exchange {
 public:
  Exchange(const Problem& problem, const SolveOptions& options, State& state)
      : problem_(problem), options_(options), state_(state), random_(options.seed), choices_(problem) {
    parts_on_.resize(problem.scenario().devices.size());
    for (std::size_t p = 0; p < problem.parts().size(); ++p)
      if (problem.parts()[p].candidates->size() > 1) free_.push_back(p);
  }

  void run(Deadline end) {
    std::size_t in_vain = 0;
    while (!free_.empty() && in_vain < kMostInVain && clock_.now() < end && !options_.stop.stop_requested())
      in_vain = exchange(end) ? 0 : in_vain + 1;
  }

 private:
  /// Parts around a part: of its service, then of those on the same devices.
  std::vector<std::size_t> around(std::size_t first) {
    for (auto& parts : parts_on_) parts.clear();
    for (const std::size_t part : free_) parts_on_[state_.device_of(part)].push_back(part);
    std::vector<std::size_t> chosen;
    std::set<std::size_t> services;
    const auto add_service = [&](std::size_t s) {
      if (!services.insert(s).second) return;
      for (const auto& parts : problem_.graph(s).parts)
        for (const std::size_t part : parts)
          if (chosen.size() < kFree && problem_.parts()[part].candidates->size() > 1 &&
              std::ranges::find(chosen, part) == chosen.end())
            chosen.push_back(part);
    };
    add_service(problem_.parts()[first].service);
    for (std::size_t i = 0; i < chosen.size() && chosen.size() < kFree; ++i) {
      std::vector<std::size_t>& beside = parts_on_[state_.device_of(chosen[i])];
      random_.shuffle(std::span(beside));
      for (std::size_t k = 0; k < std::min<std::size_t>(beside.size(), 3); ++k)
        add_service(problem_.parts()[beside[k]].service);
    }
    return chosen;
  }

  /// Its own device, those of the other free parts, and some of its choices.
  std::vector<std::uint32_t> devices_for(std::size_t part, const std::vector<std::size_t>& chosen) {
    std::vector<std::uint32_t> devices{state_.device_of(part)};
    const auto& candidates = *problem_.parts()[part].candidates;
    const auto add = [&](std::uint32_t device) {
      if (devices.size() < kDevices && std::ranges::binary_search(candidates, device) &&
          std::ranges::find(devices, device) == devices.end())
        devices.push_back(device);
    };
    for (const std::size_t other : chosen)
      if (devices.size() < kDevices / 2) add(state_.device_of(other));
    std::vector<std::uint32_t> choices = choices_.of(part, state_.placement());
    random_.shuffle(std::span(choices));
    for (const std::uint32_t device : choices) add(device);
    std::ranges::sort(devices);
    return devices;
  }

  /// Solves a subproblem. Whether it made the placement better.
  bool exchange(Deadline end) {
    const std::vector<std::size_t> chosen = around(free_[random_.below(free_.size())]);
    std::vector<std::vector<std::uint32_t>> candidates;
    for (std::size_t p = 0; p < problem_.parts().size(); ++p) candidates.push_back({state_.device_of(p)});
    for (const std::size_t part : chosen) candidates[part] = devices_for(part, chosen);
    for (std::size_t i = chosen.size(); i > 1 && PlacementMilp::size_of(problem_, candidates) >
                                                     kMostSubcolumns + static_cast<double>(2 * problem_.flows().size());
         --i)
      candidates[chosen[i - 1]] = {state_.device_of(chosen[i - 1])};
    PlacementMilp milp(problem_, options_.objective, std::move(candidates));
    if (milp.is_infeasible()) return false;
    const Rated before = Rated::of(state_);
    const Placement was = state_.placement();
    const std::size_t level = before.values.size() > 1 ? random_.below(before.values.size()) : 0;
    for (std::size_t l = 0; l < level; ++l) milp.limit(l, before.values[l] * (1 + kTolerance / 10));
    const auto result =
        milp.solve(level, before.values[level], was, {std::min(kSubproblem, end - clock_.now()), options_.stop});
    if (result.placement.empty()) return false;
    for (const std::size_t part : chosen) state_.put(part, result.placement[part]);
    if (Rated::of(state_).is_better_than(before)) return true;
    for (const std::size_t part : chosen) state_.put(part, was[part]);
    return false;
  }

  const Problem& problem_;
  const SolveOptions& options_;
  State& state_;
  Random random_;
  Choices choices_;
  const SteadyClock clock_;
  std::vector<std::size_t> free_;
  std::vector<std::vector<std::size_t>> parts_on_;  // free ones, by device
};

}  // namespace

Result<Solution> solve_decomposition(const Problem& problem, const SolveOptions& options) {
  if (const std::string why = why_late(problem); !why.empty())
    return Solution{Solution::Outcome::infeasible, {}, std::nullopt, why};
  const SteadyClock clock;
  const Deadline end = clock.after(options.time_limit);
  State state = first_state(problem, options.objective);
  SolveOptions half = options;
  half.time_limit = (end - clock.now()) / 2;
  improve(problem, half, 0.5, state);
  Exchange(problem, options, state).run(end);
  return solution_of(problem, options.objective, state.placement());
}

}  // namespace mangrove::place
