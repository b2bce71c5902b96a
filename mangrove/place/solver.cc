#include "mangrove/place/solver.h"

#include "mangrove/place/solvers/rows.h"

namespace mangrove::place {
namespace {

constexpr SolverRow kSolvers[] = {
    {"auto", "exact if the scenario is small enough, else decomposition", true, solve_auto},
    {"exact", "a mixed-integer linear program, with proof or gap", false, solve_exact},
    {"decomposition", "the best for a few parts at a time, again and again", true, solve_decomposition},
    {"local_search", "simulated annealing from greedy and heft", true, solve_local_search},
    {"heft", "each task where it is done earliest (Topcuoglu 2002)", true, solve_heft},
    {"greedy", "each task where the objective grows least", true, solve_greedy},
    {"even", "as many tasks on each device as on any other", true, solve_even},
};

}  // namespace

std::span<const SolverRow> solvers() {
  return kSolvers;
}

}  // namespace mangrove::place
