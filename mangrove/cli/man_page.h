#pragma once

#include <span>
#include <string>

#include "mangrove/cli/command_tree.h"

namespace mangrove::cli {

/// The page of `man mangrove`, in troff's language with the macros of man(7), made from the description of the command
/// line.
std::string man_page(std::span<const CommandDescription> commands);

}  // namespace mangrove::cli
