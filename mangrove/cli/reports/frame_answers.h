#pragma once

#include <cstdint>
#include <string>

#include "mangrove/base/result.h"
#include "mangrove/cli/settings.h"

namespace mangrove::cli {

/// Prints what a report "answers" of frames says (docs/json.md), in their order: with --json an object a line on
/// standard output, else a line for a person. Returns how many there were.
/// errors: resource_exhausted (standard output takes no more); data_loss (it says something else).
Result<std::int64_t> print_answers(const std::string& report, const OutputOptions& output);

}  // namespace mangrove::cli
