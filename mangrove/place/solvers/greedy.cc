#include "mangrove/place/choices.h"
#include "mangrove/place/solvers/common.h"
#include "mangrove/place/solvers/rows.h"

namespace mangrove::place {

void put_greedily(const Problem& problem, State& state) {
  Choices choices(problem);
  put_fixed(problem, state);
  for (const std::size_t part : parts_in_order(problem)) {
    if (state.device_of(part) != kNowhere) continue;
    std::uint32_t best = kNowhere;
    Rated best_rated;
    for (const std::uint32_t device : choices.of(part, state.placement())) {
      state.put(part, device);
      if (Rated rated = Rated::of(state); best == kNowhere || rated.is_better_than(best_rated)) {
        best = device;
        best_rated = std::move(rated);
      }
    }
    state.put(part, best);
  }
}

Result<Solution> solve_greedy(const Problem& problem, const SolveOptions& options) {
  State state(problem, options.objective);
  put_greedily(problem, state);
  return solution_of(problem, options.objective, state.placement());
}

}  // namespace mangrove::place
