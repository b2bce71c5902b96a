#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "mangrove/base/clock.h"
#include "mangrove/cli/command.h"
#include "mangrove/cli/health_file.h"

namespace mangrove::cli {
namespace {

struct HealthState {
  std::string file;
  bool must_be_ready = false;
};

Status run_health(const HealthState& state, const OutputOptions& output) {
  const fs::path path = state.file.empty() ? health_file().value_or("") : fs::path(state.file);
  if (path.empty())
    return make_error(Code::invalid_argument,
                      "no file is named: give --file the one that $MANGROVE_HEALTH_FILE named when the coordinator, "
                      "node or server was started");
  MG_TRY(const Health health, read_health(path, SteadyClock().now()));
  if (state.must_be_ready && !health.is_ready)
    return make_error(Code::unavailable, health.program + " is not ready: " + health.status);
  return print_result(
      {{"program", health.program}, {"ready", health.is_ready}, {"status", health.status}},
      health.program + (health.is_ready ? " is ready: " : " is alive, not ready: ") + health.status + "\n", output);
}

}  // namespace

void add_health_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("health", "say whether a coordinator, node or server is alive and ready");
  auto state = std::make_shared<HealthState>();
  command
      ->add_option("--file", state->file, "the file where the process keeps its health; default: $MANGROVE_HEALTH_FILE")
      ->type_name("FILE");
  command->add_flag("--ready", state->must_be_ready,
                    "it must also be ready: a coordinator or server answers, and a node has joined its coordinator");
  add_output_flags(*command, context.output);
  command->footer(
      "A coordinator, node or server that finds MANGROVE_HEALTH_FILE in its environment\n"
      "writes its health there every five seconds. The exit status is 1 if nothing was\n"
      "written for 30 s, which is what probes of containers ask for.\n"
      "Examples:\n"
      "  MANGROVE_HEALTH_FILE=/dev/shm/mangrove-node mangrove node\n"
      "  mangrove health --file /dev/shm/mangrove-node\n"
      "  podman exec node mangrove health --ready");
  command->callback(
      [&context, state] { context.action = [&context, state] { return run_health(*state, context.output); }; });
}

}  // namespace mangrove::cli
