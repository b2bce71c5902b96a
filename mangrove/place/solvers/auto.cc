#include "mangrove/place/placement_milp.h"
#include "mangrove/place/solvers/rows.h"

namespace mangrove::place {

Result<Solution> solve_auto(const Problem& problem, const SolveOptions& options) {
  constexpr double kSmall = 30'000;  // that CBC most often solves within a minute
  return PlacementMilp::size_of(problem, problem.candidates()) <= kSmall ? solve_exact(problem, options)
                                                                         : solve_decomposition(problem, options);
}

}  // namespace mangrove::place
