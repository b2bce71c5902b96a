#pragma once

#include <CLI/App.hpp>
#include <span>
#include <string>
#include <vector>

#include "mangrove/base/result.h"

namespace mangrove::cli {

/// The command that the words name, as deep as they go: of "data", "make", "images", "--to" that of "images". How many
/// words that took is added to `taken`, if it is given.
CLI::App& named_command(CLI::App& app, std::span<const std::string> words, std::size_t* taken = nullptr);

/// "mangrove data make images"
std::string command_path(const CLI::App& command);

/// The commands below this one that are shown, in the order in which they were added.
std::vector<const CLI::App*> commands_below(const CLI::App& command);

/// What is wrong with the words, which CLI11 has refused: a word that is no command or option, with the nearest one; an
/// option that is given twice, or has no value; else what CLI11 says. With the help page of the command that was meant.
Error usage_error(CLI::App& app, std::span<const std::string> words, const CLI::ParseError& refusal);

/// `help data make` as `data make --help`, `help train gossip` as `train --help gossip`; other words as they are.
std::vector<std::string> without_help_command(std::vector<std::string> words, CLI::App& app);

}  // namespace mangrove::cli
