#pragma once

#include <cstdint>

#include "mangrove/place/evaluation.h"
#include "mangrove/place/scenario.h"

namespace mangrove::testing {

/// A random scenario of two to four devices and few tasks, with constraints of every kind here and there.
place::Scenario small_scenario(std::uint64_t seed);

/// Where its parts were before, at random, of which few may move.
place::Before small_before(const place::Problem& problem, std::uint64_t seed);

/// The best placement by trying all of them; none: no placement keeps all constraints.
place::Placement best_by_trying_all(const place::Problem& problem, const place::Objective& objective);

}  // namespace mangrove::testing
