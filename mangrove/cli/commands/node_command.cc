#include <cstdio>
#include <memory>

#include "mangrove/base/log.h"
#include "mangrove/cli/command.h"
#include "mangrove/cli/flag_ranges.h"
#include "mangrove/cluster/node.h"
#include "mangrove/data/dataset.h"

namespace mangrove::cli {
namespace {

struct State {
  cluster::NodeOptions options;
  std::int64_t threads = 0;
  std::string data_dir;
  Overrides overrides;

  Keys keys() {
    Keys keys;
    keys.add("coordinator", options.coordinator, "HOST:PORT of the coordinator to join");
    keys.add("name", options.name, "name in the cluster; default: the host's name");
    keys.add("listen", options.listen, "HOST:PORT where other nodes reach this one; port 0: any free one");
    keys.add("threads", threads, "threads for the kernels; 0: one per core", or_zero(kThreads));
    keys.add("data_dir", data_dir, "folder of the data sets; default: $MANGROVE_DATA, or else ~/.cache/mangrove/data");
    keys.add_seconds("join_timeout", options.join_timeout,
                     "give up if the coordinator has not answered after this time");
    keys.add_seconds("rejoin_timeout", options.rejoin_timeout,
                     "give up if a lost coordinator has not come back after this time");
    return keys;
  }
};

Status run(State& state, const std::stop_token& stop) {
  MG_RETURN_IF_ERROR(apply_overrides(state.overrides, state.keys()));
  state.options.threads = static_cast<int>(state.threads);
  state.options.data_folder = data::data_folder(state.data_dir);
  set_log_name(state.options.name.empty() ? "node" : state.options.name);
  set_log_level(LogLevel::info);
  MG_TRY(const auto node, cluster::Node::start(state.options));
  std::printf("node %s ready on %s\n", node->name().c_str(), node->address().c_str());
  std::fflush(stdout);
  const Status ended = node->wait(stop);
  node->shutdown();
  return ended;
}

}  // namespace

void add_node_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("node", "join a cluster as a worker node");
  auto state = std::make_shared<State>();
  add_flags(*command, state->keys(), state->overrides);
  command->footer(
      "Examples:\n"
      "  mangrove node --coordinator 192.168.1.10:7070\n"
      "  mangrove node --coordinator 192.168.1.10:7070 --name pi-3 --threads 4 \\\n"
      "                --data-dir /mnt/usb/data\n"
      "A node ends on SIGINT (Ctrl-C) or SIGTERM, and the others take over its work.\n"
      "After a freeze, a broken link or a restart of the coordinator it joins again and\n"
      "takes part in the job that is running.");
  command->callback([&context, state] { context.action = [&context, state] { return run(*state, context.stop); }; });
}

}  // namespace mangrove::cli
