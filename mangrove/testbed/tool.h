#pragma once

#include <string>
#include <vector>

#include "mangrove/base/result.h"

namespace mangrove::testbed {

/// Runs `ip`, `tc` or another program of the system to its end and returns what it printed.
/// errors: unavailable (it failed; quotes the command and its message), not_found (it is not installed; names it),
/// deadline_exceeded (it did not end within 20 s).
Result<std::string> run_tool(const std::vector<std::string>& command);

/// "ip link add ...": a command in one string, its words separated by blanks.
Result<std::string> run_tool(const std::string& command);

}  // namespace mangrove::testbed
