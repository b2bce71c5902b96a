#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "mangrove/plan/planner.h"

namespace mangrove::cli {

/// A plan and what is said about it: `plan`, `runner_up`, `faster_links`, `one_more` and so on; docs/json.md lists the
/// keys.
nlohmann::json plan_report(const plan::Problem& problem, const plan::Plan& plan, const plan::Advice& advice);

/// The same as a table with a picture, for people.
std::string plan_text(const plan::Problem& problem, const plan::Plan& plan, const plan::Advice& advice);

}  // namespace mangrove::cli
