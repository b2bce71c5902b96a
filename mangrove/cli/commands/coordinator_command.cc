#include <cstdio>
#include <memory>

#include "mangrove/base/log.h"
#include "mangrove/base/stop.h"
#include "mangrove/cli/command.h"
#include "mangrove/cluster/coordinator.h"
#include "mangrove/cluster/failure_detector.h"
#include "mangrove/data/dataset.h"

namespace mangrove::cli {
namespace {

struct State {
  cluster::CoordinatorOptions options;
  std::int64_t misses = cluster::CoordinatorOptions{}.heartbeat_misses;
  std::string state_folder, data_dir;
  Overrides overrides;

  Keys keys() {
    Keys keys;
    keys.add("listen", options.listen, "HOST:PORT to listen on; port 0: any free one");
    keys.add_seconds("heartbeat_interval", options.heartbeat_interval, "time between two heartbeats of a node");
    keys.add("heartbeat_misses", misses, "a node is lost after so many intervals of silence", 1, cluster::kMostMisses);
    keys.add(
        "data_dir", data_dir,
        "folder of the data sets that nodes get from here (train --data-from cluster); default: $MANGROVE_DATA, or "
        "else ~/.cache/mangrove/data");
    keys.add(
        "state", state_folder,
        "folder where jobs and their last checkpoints are kept; a restarted coordinator goes on with the job that was "
        "running");
    return keys;
  }
};

Status run(State& state, const std::stop_token& stop) {
  MG_RETURN_IF_ERROR(apply_overrides(state.overrides, state.keys()));
  state.options.heartbeat_misses = static_cast<int>(state.misses);
  state.options.state_folder = state.state_folder;
  state.options.data_folder = data::data_folder(state.data_dir);
  set_log_name("coordinator");
  set_log_level(LogLevel::info);
  MG_TRY(const auto coordinator, cluster::Coordinator::start(state.options));
  std::printf("coordinator ready on %s\n", coordinator->address().c_str());
  std::fflush(stdout);
  wait_for_stop(stop);
  coordinator->shutdown();
  return {};
}

}  // namespace

void add_coordinator_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("coordinator", "start the coordinator, which tracks nodes and runs jobs");
  auto state = std::make_shared<State>();
  add_flags(*command, state->keys(), state->overrides);
  command->footer(
      "Examples:\n"
      "  mangrove coordinator                    # on port 7070 of every interface\n"
      "  mangrove coordinator --listen 192.168.1.10:7070 --heartbeat-misses 20\n"
      "  mangrove coordinator --data-dir /mnt/usb/data\n"
      "  mangrove coordinator --state /var/lib/mangrove\n"
      "A coordinator ends on SIGINT (Ctrl-C) or SIGTERM, after a running job has\n"
      "written its checkpoint.");
  command->callback([&context, state] { context.action = [&context, state] { return run(*state, context.stop); }; });
}

}  // namespace mangrove::cli
