#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "mangrove/base/result.h"
#include "mangrove/place/objective.h"
#include "mangrove/place/problem.h"

namespace mangrove::place {

struct SolveOptions {
  Objective objective;
  Seconds time_limit = 60;
  std::uint64_t seed = 1;
  std::stop_token stop;  // then the best so far is the result
};

/// How much domains said to each other.
struct Negotiation {
  std::size_t rounds = 0, messages = 0;
};

/// What a solver found.
struct Solution {
  enum class Outcome {
    optimal,     // no placement is better at any level of the objective, up to a millionth
    feasible,    // it keeps all constraints
    infeasible,  // there is no placement that does
    none,        // none was found; there may be one
  };
  Outcome outcome = Outcome::none;
  Placement placement;                          // empty unless optimal or feasible
  std::optional<double> bound;                  // no placement has a lower value of the objective's first level
  std::string why;                              // infeasible, or none: a sentence that says what stands in the way
  std::optional<Negotiation> negotiation = {};  // of domains
};

struct SolverRow {
  std::string_view name, description;
  /// Is called only if each part has a device that it can be on. errors: as solve().
  Result<Solution> (*search)(const Problem& problem, const SolveOptions& options);
  bool needs_domains = false;

  /// Whether it takes problems like this one.
  bool applies(const Problem& problem) const;
  /// errors: resource_exhausted: the scenario is too large for this solver; failed_precondition: it does not apply, or
  /// what it says of domains does not hold.
  Result<Solution> solve(const Problem& problem, const SolveOptions& options) const;
};
/// The first one is the default.
std::span<const SolverRow> solvers();

}  // namespace mangrove::place
