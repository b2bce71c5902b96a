#pragma once

#include <functional>
#include <vector>

#include "mangrove/plan/plan.h"

namespace mangrove::testing {

/// Calls `visit` with every plan of a small problem, whether it fits or not: every way to part its layers into stages
/// that can follow each other, and every choice of devices for each, as far as problem.most_replicas allows.
/// allowed: which stages to try.
void for_every_plan(const plan::Problem& problem, const std::function<bool(const plan::Part&)>& allowed,
                    const std::function<void(const std::vector<plan::Part>&)>& visit);

}  // namespace mangrove::testing
