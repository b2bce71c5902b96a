#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace mangrove::cli {

/// An option as people see it.
struct OptionDescription {
  std::string name;           // --learning-rate, or of an argument without dashes its name
  std::string short_name;     // -o; may be empty
  std::string help;           // without a full stop
  std::string value;          // what stands for its value, "VALUE" where nothing is said; "" of a switch
  std::string default_value;  // may be empty
  bool is_argument = false;   // has no dashes
  bool is_required = false;
  std::vector<std::string> choices;  // what it can be, where that is a list
};

struct CommandDescription {
  std::string path;  // "mangrove data make images"
  std::string name;  // "images"
  std::string help;
  std::string footer;  // examples
  std::vector<OptionDescription> options;
  std::vector<std::string> commands;  // names of those below
};

/// The whole command line from the description that the parser has: the program, then each command before those below
/// it.
std::vector<CommandDescription> describe_commands(const CLI::App& app);

}  // namespace mangrove::cli
