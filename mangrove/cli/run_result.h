#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "mangrove/cli/command.h"
#include "mangrove/cli/run_folder.h"

namespace mangrove::cli {

/// The end of a run: summary.json and report.html are written, and the result is printed, whatever the disk takes.
/// Where a file is missing at the end, the result says so (`not_written`), and the command fails after it has printed.
/// table: of the result, for people. errors: those of print_result.
Status leave_result(nlohmann::json result, const std::string& table, RunFolder& folder, CommandContext& context);

}  // namespace mangrove::cli
