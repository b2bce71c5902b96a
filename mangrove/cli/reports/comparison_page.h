#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "mangrove/cli/reports/run_record.h"

namespace mangrove::cli {

constexpr std::size_t kMostCompared = 10;  // runs, which have a colour each

/// Runs side by side: what they came to, the settings in which they differ, and their curves in the same charts.
/// names: of the runs, as many.
std::string comparison_page(const std::vector<RunRecord>& runs, const std::vector<std::string>& names);

}  // namespace mangrove::cli
