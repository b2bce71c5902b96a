#include <limits>
#include <tuple>

#include "mangrove/place/solvers/common.h"
#include "mangrove/place/solvers/rows.h"

namespace mangrove::place {

Result<Solution> solve_even(const Problem& problem, const SolveOptions& options) {
  State state(problem, options.objective);
  put_fixed(problem, state);
  for (const std::size_t part : parts_in_order(problem)) {
    if (state.device_of(part) != kNowhere) continue;
    const double before = state.excess();
    // where nothing is exceeded, then where the fewest are
    using Rank = std::tuple<bool, std::uint32_t, std::uint32_t>;
    Rank best{true, std::numeric_limits<std::uint32_t>::max(), 0};
    for (const std::uint32_t device : *problem.parts()[part].candidates) {
      const std::uint32_t parts = state.parts_on(device);
      if (Rank{false, parts, device} >= best) continue;
      state.put(part, device);
      best = std::min(best, Rank{state.excess() > before, parts, device});
      state.put(part, kNowhere);
    }
    state.put(part, std::get<2>(best));
  }
  return solution_of(problem, options.objective, state.placement());
}

}  // namespace mangrove::place
