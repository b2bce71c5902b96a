#pragma once

#include <span>
#include <string>

#include "mangrove/cli/command_tree.h"

namespace mangrove::cli {

// Scripts that let a shell complete the command line: commands, options, what options can be, else files. Made from the
// description of the command line, so that they are never behind it.

std::string bash_completion(std::span<const CommandDescription> commands);
std::string zsh_completion(std::span<const CommandDescription> commands);
std::string fish_completion(std::span<const CommandDescription> commands);

}  // namespace mangrove::cli
