#include "mangrove/place/solvers/common.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "mangrove/place/latency_bound.h"

namespace mangrove::place {
namespace {

enum class Resource { cores, accelerator, memory };

/// The share of a device's resource that a part takes there.
double share_of(const Problem& problem, std::size_t part, std::uint32_t d, Resource resource) {
  const Device& device = problem.scenario().devices[d];
  if (resource == Resource::memory)
    return device.memory > 0 ? static_cast<double>(problem.task(part).memory) / static_cast<double>(device.memory) : 0;
  if (problem.is_accelerated(part, d) != (resource == Resource::accelerator)) return 0;
  return problem.peak_load(part, d) / device.utilisation;
}

struct Least {
  double cost = 0, energy = 0;
};

/// What parts cost at least, if each pays for its share of one resource: all shares of a device come to 1 at most.
/// used: devices that are paid for already.
Least least_by(const Problem& problem, const std::set<std::uint32_t>& used, Resource resource) {
  constexpr double kWorst = std::numeric_limits<double>::infinity();
  Least sum;
  for (std::size_t p = 0; p < problem.parts().size(); ++p) {
    Least least{kWorst, kWorst};
    for (const std::uint32_t d : *problem.parts()[p].candidates) {
      const Device& device = problem.scenario().devices[d];
      const double share = used.contains(d) ? 0 : std::min(1.0, share_of(problem, p, d, resource));
      const double busy = problem.load(p, d) * (problem.is_accelerated(p, d) ? device.accelerator_watts : device.watts);
      least.cost = std::min(least.cost, share * device.price);
      least.energy = std::min(least.energy, share * device.idle_watts + busy);
    }
    sum.cost += least.cost;
    sum.energy += least.energy;
  }
  return sum;
}

}  // namespace

void put_fixed(const Problem& problem, State& state) {
  for (std::size_t p = 0; p < problem.parts().size(); ++p)
    if (problem.parts()[p].candidates->size() == 1) state.put(p, problem.parts()[p].candidates->front());
}

std::vector<std::size_t> parts_in_order(const Problem& problem) {
  std::vector<std::size_t> order;
  std::vector<bool> is_in(problem.parts().size(), false);
  for (std::size_t s = 0; s < problem.scenario().services.size(); ++s)
    for (const std::size_t t : problem.graph(s).order)
      for (const std::vector<std::size_t>& parts : problem.graph(s).parts) {
        if (!is_in[parts[t]]) order.push_back(parts[t]);
        is_in[parts[t]] = true;
      }
  return order;
}

Solution solution_of(const Problem& problem, const Objective& objective, Placement placement) {
  Solution solution;
  const Evaluation evaluation = evaluate(problem, placement);
  solution.bound = simple_bound(problem, objective);
  if (evaluation.is_feasible()) {
    solution.outcome = Solution::Outcome::feasible;
    solution.placement = std::move(placement);
    return solution;
  }
  const Violation& worst = *std::ranges::max_element(evaluation.violations, {}, &Violation::by);
  solution.why = fmt::format("the best that was found does not keep all constraints: {}", worst.what);
  return solution;
}

State first_state(const Problem& problem, const Objective& objective) {
  State best(problem, objective);
  put_greedily(problem, best);
  State heft(problem, objective);
  put_by_finish_times(problem, heft);
  const auto take = [&best](const State& other) {
    if (!Rated::of(other).is_better_than(Rated::of(best))) return;
    for (std::size_t p = 0; p < other.placement().size(); ++p) best.put(p, other.device_of(p));
  };
  take(heft);
  if (problem.before().devices.empty()) return best;
  State before(problem, objective);
  for (std::size_t p = 0; p < problem.parts().size(); ++p)
    if (const std::uint32_t device = problem.before().devices[p];
        std::ranges::binary_search(*problem.parts()[p].candidates, device))
      before.put(p, device);
  put_greedily(problem, before);
  take(before);
  return best;
}

double simple_bound(const Problem& problem, const Objective& objective) {
  Measures least;
  std::set<std::uint32_t> used;  // in any case
  for (std::size_t p = 0; p < problem.parts().size(); ++p)
    if (problem.parts()[p].candidates->size() == 1) used.insert(problem.parts()[p].candidates->front());
  for (const std::uint32_t d : used) {
    least.cost += problem.scenario().devices[d].price;
    least.energy += problem.scenario().devices[d].idle_watts;
  }
  least.devices = static_cast<double>(std::max<std::size_t>(used.size(), 1));
  Least most;
  for (const Resource resource : {Resource::cores, Resource::accelerator, Resource::memory}) {
    const Least parts = least_by(problem, used, resource);
    most = {std::max(most.cost, parts.cost), std::max(most.energy, parts.energy)};
  }
  least.cost += most.cost;
  least.energy += most.energy;
  const bool has_latency = std::ranges::any_of(objective.levels.front(), [](const Objective::Term& term) {
    return term.measure->value == &Measures::latency || term.measure->value == &Measures::worst_latency;
  });
  const std::size_t services = has_latency ? problem.scenario().services.size() : 0;
  const LatencyBound latencies(problem);
  for (std::size_t s = 0; s < services; ++s) {
    const ServiceMeasures service = latencies.least(s);
    least.worst_latency = std::max(least.worst_latency, service.worst_latency);
    least.latency += service.mean_latency / static_cast<double>(services);
  }
  return value_of(objective.levels.front(), least);
}

}  // namespace mangrove::place
