#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "mangrove/base/host_name.h"
#include "mangrove/base/log.h"
#include "mangrove/base/printable.h"
#include "mangrove/cli/command.h"
#include "mangrove/cli/flag_ranges.h"
#include "mangrove/cli/service_notice.h"
#include "mangrove/cli/sources/rewriting.h"
#include "mangrove/cluster/access.h"
#include "mangrove/cluster/node.h"
#include "mangrove/data/dataset.h"

namespace mangrove::cli {
namespace {

struct NodeState {
  cluster::NodeOptions options;
  std::int64_t threads = 0;
  Seconds join_timeout = 0, rejoin_timeout = 0;
  std::string config, coordinator, listen, join, identity, data_dir, labels;
  std::vector<std::string> allowed;
  Overrides overrides;

  Keys keys() {
    Keys keys;
    keys.add(
        "join", join,
        "join string of `mangrove invite --role node`, a file that holds it, or - for standard input; needed once, "
        "and does no harm later");
    keys.add("coordinator", coordinator,
             "HOST:PORT of the coordinator to join; default: that of the join string, or 127.0.0.1:7070");
    keys.add("name", options.name, "name in the cluster; default: the host's name");
    keys.add("listen", listen,
             "HOST:PORT where other nodes reach this one; port 0: any free one; default: any port, of every interface "
             "with a certificate, of 127.0.0.1 without");
    keys.add("labels", labels, "words that jobs can ask for with --node-labels, e.g. kind=pi4,zone=greenhouse");
    keys.add("threads", threads, "threads for the kernels; 0: one per core", or_zero(kThreads));
    keys.add("data_dir", data_dir, "folder of the data sets; default: $MANGROVE_DATA, or else ~/.cache/mangrove/data");
    keys.add_seconds("join_timeout", join_timeout,
                     "give up if the coordinator has not answered after this time; 0s: who has joined before tries "
                     "until the certificate expires, others 10 s");
    keys.add_seconds("rejoin_timeout", rejoin_timeout,
                     "give up if a lost coordinator has not come back after this time; 0s: when the certificate "
                     "expires, or after ten minutes without one");
    keys.add("identity", identity,
             "PEM file with a key, certificate and authority made elsewhere, or - for standard input");
    keys.add("insecure", options.insecure,
             "accept a coordinator without certificates: plain text, and anybody could be that coordinator");
    return keys;
  }
};

constexpr Seconds kNewcomersPatience = 10;
constexpr Seconds kSayFirstAfter = 10, kSayEvery = 600;  // times of the log lines that no coordinator answers

/// How long the node waits for its coordinator: a board may start before it.
Seconds patience(const NodeState& state, const identity::IdentityStore& store) {
  if (state.join_timeout > 0) return state.join_timeout;
  Seconds longest = kNewcomersPatience;
  const auto count = [&longest](const identity::Identity& own) {
    const auto left = own.certificate().valid_to() - identity::wall_now();
    if (own.subject().role == identity::Role::node) longest = std::max(longest, static_cast<Seconds>(left.count()));
  };
  if (!state.identity.empty()) {
    if (const auto own = identity::Identity::load(state.identity); own.ok()) count(*own);
    return longest;
  }
  if (const auto known = store.all(); known.ok())
    for (const identity::IdentityStore::Entry& entry : *known) count(entry.identity);
  return longest;
}

/// Sets the credentials and, if the node has a join string, the coordinator.
Status find_once(const cluster::Access& access, const std::optional<identity::JoinString>& string,
                 const identity::Subject& wished, const identity::IdentityStore& store, Deadline deadline,
                 const std::stop_token& stop, cluster::NodeOptions& options) {
  if (!string) {
    MG_TRY(options.credentials, cluster::find_credentials(access, store, deadline, stop));
    return {};
  }
  MG_TRY(cluster::Joined joined, cluster::join_or_find_credentials(access, *string, wished, store, deadline, stop));
  options.credentials = std::move(joined.credentials);
  options.coordinator = std::move(joined.coordinator);
  return {};
}

/// Sets the credentials of the node: those of an identity made elsewhere, or the one with which it joins now or has
/// joined earlier.
Status find_credentials(NodeState& state, const std::stop_token& stop) {
  using identity::Role;
  cluster::NodeOptions& options = state.options;
  if (!state.coordinator.empty()) options.coordinator = state.coordinator;
  if (state.identity == "-") {
    MG_TRY(options.credentials, cluster::load_credentials(state.identity, Role::node));
    return {};
  }
  const auto store = identity::IdentityStore::of_user();
  cluster::Access access{.coordinator = state.options.coordinator,
                         .roles = {Role::node},
                         .name = state.options.name,
                         .identity = state.identity,
                         .insecure = state.options.insecure};
  std::optional<identity::JoinString> string;
  if (!state.join.empty()) {
    MG_TRY(string, read_join_string(state.join));
    if (!state.coordinator.empty()) string->address = state.coordinator;
    access.coordinator = string->address;
    access.searches = state.options.searches = state.coordinator.empty();
  }
  const std::string name = state.options.name.empty() ? host_name() : state.options.name;
  MG_RETURN_IF_ERROR(identity::check_name(name).context("--name"));
  const SteadyClock clock;
  const Deadline end = clock.after(patience(state, store));
  for (Seconds slice = kSayFirstAfter;; slice = kSayEvery) {
    const Deadline deadline = std::min(end, clock.after(slice));
    Status found = find_once(access, string, {Role::node, name}, store, deadline, stop, options);
    if (found.ok() || found.code() != Code::unavailable || end <= deadline || stop.stop_requested()) return found;
    log_warn("trying on", {{"message", found.error().message}, {"left_s", end - clock.now()}});
  }
}

ServiceNotice::State state_of(const cluster::Node& node) {
  const bool is_joined = node.is_joined();
  return {.is_ready = is_joined,
          .status = printable(node.name() + (is_joined ? " is a node of " : " has lost ") + node.coordinator())};
}

Status run_node(NodeState& state, const std::stop_token& stop) {
  MG_RETURN_IF_ERROR(apply_service_settings(state.config, state.overrides, state.keys(), state.allowed));
  state.options.threads = static_cast<int>(state.threads);
  state.options.labels = parse_names(state.labels);
  if (state.rejoin_timeout > 0) state.options.rejoin_timeout = state.rejoin_timeout;
  state.options.data_folder =
      data::DataFolder::confined(data::data_folder(state.data_dir), {state.allowed.begin(), state.allowed.end()});
  set_log_name(state.options.name.empty() ? "node" : state.options.name);
  set_log_level(LogLevel::info);
  ServiceNotice notice("node", "looking for the coordinator");
  MG_RETURN_IF_ERROR(find_credentials(state, stop));
  if (!state.listen.empty()) state.options.listen = state.listen;
  if (state.listen.empty() && state.options.credentials) state.options.listen = "0.0.0.0:0";
  MG_TRY(const auto node, cluster::Node::start(state.options));
  if (!state.options.credentials) warn_if_insecure(state.options.insecure, node->address());
  std::printf("node %s ready on %s\n", printable(node->name()).c_str(), node->address().c_str());
  std::fflush(stdout);
  Status ended;
  {
    const ServiceNotice::Work work = notice.ready([&] { return state_of(*node); });
    ended = node->wait(stop);
  }
  node->shutdown();
  return ended;
}

}  // namespace

void add_node_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("node", "join a cluster as a worker node");
  auto state = std::make_shared<NodeState>();
  add_flags(*command, state->keys(), state->overrides);
  add_allow_path_flag(*command, state->allowed);
  add_config_flag(*command, state->config);
  command->footer(
      "Examples:\n"
      "  mangrove node --join node.join          # a file with a join string\n"
      "  mangrove node --coordinator 192.168.1.10:7070   # it has joined before\n"
      "  mangrove node --coordinator 192.168.1.10:7070 --name pi-3 --threads 4 \\\n"
      "                --data-dir /mnt/usb/data --allow-path /srv/photos\n"
      "If nothing answers at the address in the string, the coordinator is looked for\n"
      "on the local network (mDNS, through Avahi). --coordinator turns that off.\n"
      "A node ends on SIGINT (Ctrl-C) or SIGTERM, and the others take over its work.\n"
      "After a freeze, a broken link or a restart of the coordinator it joins again and\n"
      "takes part in the job that is running.");
  command->callback(
      [&context, state] { context.action = [&context, state] { return run_node(*state, context.stop); }; });
}

}  // namespace mangrove::cli
