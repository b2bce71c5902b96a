#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/cli/cluster_access.h"
#include "mangrove/cli/settings.h"

namespace mangrove::cluster {
class JobSpec;
}
namespace mangrove::sim {
struct SimulationOptions;
struct World;
}  // namespace mangrove::sim

namespace mangrove::cli {

/// sim::simulate().
using Simulate = Status (*)(const cluster::JobSpec&, const sim::World&, sim::SimulationOptions);

/// What every command is given, and where the chosen one leaves what main() has to do.
struct CommandContext {
  std::vector<std::string> arguments;  // of this process; the first is the program
  std::string version;                 // of the program
  std::stop_token stop;
  OutputOptions output;
  std::function<Status()> action;
  Simulate simulate = nullptr;  // sim::simulate, of the one program that links SimGrid; null: this is another one
  bool failed = false;          // the action has printed its result, which says that a part could not be done
};

/// Values of flags as they were typed, to be set over defaults and job files.
using Overrides = std::vector<std::pair<std::string, std::string>>;

/// A flag for each key that `app` does not have yet; typed values go to `overrides`, which must outlive the parse.
/// `is_flag` says of a key whether it gets one.
void add_flags(
    CLI::App& app, const Keys& keys, Overrides& overrides,
    const std::function<bool(const Key&)>& is_flag = [](const Key&) { return true; });
/// errors: those of Keys::set, with the flag's name.
Status apply_overrides(const Overrides& overrides, const Keys& keys);
/// A flag that would be ignored is a mistake. errors: those of mangrove::check_read, with the flag's name.
Status check_read(const Overrides& overrides, const std::vector<Keys>& jobs);

/// --json and --quiet.
void add_output_flags(CLI::App& app, OutputOptions& output);

/// Adds --allow-path, which may be given several times, to a process that opens data sets for the jobs of others.
void add_allow_path_flag(CLI::App& app, std::vector<std::string>& allowed);

/// Adds --config to a process that runs as a service.
void add_config_flag(CLI::App& app, std::string& path);
/// Sets `keys` and `allowed` from the file of --config, if there is one (path not empty); then what was typed.
/// errors: those of apply_settings_file and apply_overrides.
Status apply_service_settings(const std::string& path, const Overrides& overrides, const Keys& keys,
                              std::vector<std::string>& allowed);

/// Adds --coordinator, --identity and --insecure to a command about a running cluster. access: holds the defaults, and
/// gets what is typed.
void add_access_flags(CLI::App& app, ClusterAccess& access);

/// Prints on standard output, with control characters escaped as printable() does. It is no error if nobody reads the
/// output any more. errors: resource_exhausted (standard output takes no more).
Status print_text(const std::string& text);

/// Prints the result of a command: one JSON object on standard output with --json (and the table on standard error),
/// else the table. On a terminal the table is folded at its width.
/// errors: those of print_text.
Status print_result(const nlohmann::json& json_output, const std::string& table, const OutputOptions& output);

/// All of them, and what `mangrove --help` says. What is given must outlive `app`.
void add_commands(CLI::App& app, CommandContext& context);

}  // namespace mangrove::cli
