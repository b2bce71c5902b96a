#pragma once

#include <string>

#include "mangrove/cli/reports/plan_report.h"
#include "mangrove/cli/reports/tile_plan_report.h"

namespace mangrove::cli {

/// The plan as a page: its figures, the devices and their links, the stages or tiles on them, and what other plans
/// would come to.
std::string plan_page(const PlanReport& report);
std::string plan_page(const TilePlanReport& report);

}  // namespace mangrove::cli
