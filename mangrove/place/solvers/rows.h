#pragma once

#include "mangrove/place/solver.h"

namespace mangrove::place {

// A solver each, in a file of its name.
Result<Solution> solve_auto(const Problem& problem, const SolveOptions& options);
Result<Solution> solve_exact(const Problem& problem, const SolveOptions& options);
Result<Solution> solve_decomposition(const Problem& problem, const SolveOptions& options);
Result<Solution> solve_federated(const Problem& problem, const SolveOptions& options);
Result<Solution> solve_local_search(const Problem& problem, const SolveOptions& options);
Result<Solution> solve_heft(const Problem& problem, const SolveOptions& options);
Result<Solution> solve_greedy(const Problem& problem, const SolveOptions& options);
Result<Solution> solve_even(const Problem& problem, const SolveOptions& options);

}  // namespace mangrove::place
