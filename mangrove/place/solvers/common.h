#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "mangrove/place/evaluation.h"
#include "mangrove/place/solver.h"
#include "mangrove/place/state.h"

namespace mangrove::place {

/// A placement, and how good it is: first by what it exceeds, then by the objective.
struct Rated {
  double excess = std::numeric_limits<double>::infinity();
  std::vector<double> values;

  static Rated of(const State& state) { return {state.excess(), state.values()}; }
  bool is_better_than(const Rated& other) const {
    if (excess != other.excess) return excess < other.excess;
    return is_better(values, other.values);
  }
};

/// What a heuristic says of the placement that it has come to: evaluate() decides whether it is feasible.
Solution solution_of(const Problem& problem, const Objective& objective, Placement placement);

/// A number that no placement is below, at the first level of the objective: each part is on the device that is best
/// for it, and pays for its share of that device; nothing is paid for what travels. Latencies are those of
/// LatencyBound.
double simple_bound(const Problem& problem, const Objective& objective);

/// The best that is found without a search: all parts are put one by one, by greedy, by heft, and by greedy once those
/// that were somewhere before are there again.
State first_state(const Problem& problem, const Objective& objective);

/// Puts all parts that have a single candidate there.
void put_fixed(const Problem& problem, State& state);

/// The parts of each service behind those that they have inputs of, service by service.
std::vector<std::size_t> parts_in_order(const Problem& problem);

/// Puts all parts one by one, by the solvers of these names. greedy leaves those where they are that are somewhere.
void put_greedily(const Problem& problem, State& state);
void put_by_finish_times(const Problem& problem, State& state);

/// Changes the placement of a state for the better until the clock or `stop` ends it, or nothing helps any more.
/// effort: times the usual number of steps.
void improve(const Problem& problem, const SolveOptions& options, double effort, State& state);

}  // namespace mangrove::place
