#pragma once

#include <string>
#include <vector>

#include "mangrove/cli/command.h"

namespace mangrove::cli {

struct Program {
  std::string version;
  Simulate simulate = nullptr;  // see CommandContext
};

/// Runs the command that the arguments name; the first of them is the program. Call it at the start of main(). Returns
/// the exit status: 2 where what the user typed or named is wrong, 130 after a signal, 1 where something else failed.
int run_program(const std::vector<std::string>& arguments, const Program& program);

}  // namespace mangrove::cli
