#include <cstdio>
#include <memory>
#include <optional>

#include "mangrove/base/folder_lock.h"
#include "mangrove/base/format.h"
#include "mangrove/base/log.h"
#include "mangrove/base/stop.h"
#include "mangrove/base/user_folders.h"
#include "mangrove/cli/command.h"
#include "mangrove/cli/job_forms.h"
#include "mangrove/cli/service_notice.h"
#include "mangrove/cluster/access.h"
#include "mangrove/cluster/address.h"
#include "mangrove/cluster/coordinator.h"
#include "mangrove/cluster/coordinator_identity.h"
#include "mangrove/cluster/failure_detector.h"
#include "mangrove/cluster/message_limits.h"
#include "mangrove/dashboard/server.h"
#include "mangrove/data/dataset.h"

namespace mangrove::cli {
namespace {

constexpr const char* kNoState = "none";
constexpr Seconds kPageGrace = 1;  // for its requests that have come

struct CoordinatorState {
  cluster::CoordinatorOptions options;
  std::int64_t misses = cluster::CoordinatorOptions{}.heartbeat_misses;
  std::string config, listen, identity, given_state, data_dir, dashboard, version;
  bool no_announce = false;
  std::vector<std::string> allowed;
  Overrides overrides;

  Keys keys() {
    Keys keys;
    keys.add("listen", listen,
             "HOST:PORT to listen on; port 0: any free one; default: port 7070, of every interface with certificates, "
             "of 127.0.0.1 without");
    keys.add_seconds("heartbeat_interval", options.heartbeat_interval, "time between two heartbeats of a node");
    keys.add("heartbeat_misses", misses, "a node is lost after so many intervals of silence", 1, cluster::kMostMisses);
    keys.add(
        "data_dir", data_dir,
        "folder of the data sets that nodes get from here (train --data-from cluster); default: $MANGROVE_DATA, or "
        "else ~/.cache/mangrove/data");
    keys.add("state", given_state,
             "folder where the cluster's certificate authority, jobs and their last checkpoints are kept; a restarted "
             "coordinator goes on with the jobs that were running; none: nothing is kept, and links are in plain text; "
             "default: /var/lib/mangrove for root, ~/.local/state/mangrove for others");
    keys.add_bytes("max_model", options.max_model,
                   "longest model, checkpoint or message of a job that it takes; 0: a quarter of its memory", 0,
                   cluster::kLongestPossible);
    keys.add("identity", identity,
             "PEM file with a key, certificate and authority made elsewhere, or - for standard input");
    keys.add("no_announce", no_announce,
             "Do not announce this coordinator on the local network (mDNS). By default a coordinator with certificates "
             "announces itself, if other machines can reach it.");
    keys.add("dashboard", dashboard,
             "HOST:PORT at which this process also shows the cluster as a page (see `mangrove dashboard`); other "
             "machines reach it over HTTPS; the file dashboard-token in the state folder has the token; default: none");
    keys.add("insecure", options.insecure, "no certificates: plain text, and anybody may do everything");
    return keys;
  }
};

/// The credentials of the coordinator: an identity made elsewhere or, with a state folder, one of its own authority.
Status prepare_identity(CoordinatorState& state, std::unique_ptr<cluster::Registrar>& registrar) {
  if (state.options.insecure) return {};
  if (!state.identity.empty()) {
    MG_TRY(state.options.credentials, cluster::load_credentials(state.identity, identity::Role::coordinator));
    return {};
  }
  const fs::path& folder = state.options.state_folder;
  if (folder.empty()) return {};
  const identity::WallTime now = identity::wall_now();
  MG_TRY(registrar, cluster::Registrar::open(folder / "identity", now));
  MG_TRY(state.options.credentials,
         cluster::coordinator_credentials(*registrar, identity::IdentityStore::of_user(), now));
  state.options.registrar = registrar.get();
  return {};
}

/// The folder where the state is kept, which no other coordinator uses meanwhile. Nothing: nothing is kept.
Result<std::optional<FolderLock>> take_state_folder(CoordinatorState& state) {
  if (state.given_state == kNoState) return std::optional<FolderLock>();
  fs::path& folder = state.options.state_folder;
  folder = state.given_state.empty() ? state_folder() : fs::path(state.given_state);
  MG_RETURN_IF_ERROR(make_writable_folder(folder).context("state"));
  Result<FolderLock> lock = FolderLock::take(folder, false);
  if (lock.ok()) return std::optional<FolderLock>(std::move(*lock));
  if (lock.code() != Code::unavailable) return lock.error().context("state");
  return make_error(Code::unavailable, "state: another coordinator uses " + folder.string() +
                                           "; give this one another folder, or: --state " + kNoState);
}

/// The file with the token of the page, which is made where there is none. errors: those of files.
Result<fs::path> dashboard_token(const fs::path& state_folder) {
  fs::path file = state_folder / "dashboard-token";
  if (fs::exists(file)) return file;
  MG_RETURN_IF_ERROR(write_private_file(file, "admin " + dashboard::make_token() + "\n"));
  return file;
}

/// The page of this cluster; null: it is not wanted. It speaks with the coordinator as the admin who runs it.
/// errors: invalid_argument (there is no authority that could make it an admin); those of dashboard::Server::start().
Result<std::unique_ptr<dashboard::Server>> start_dashboard(const CoordinatorState& state,
                                                           const cluster::Registrar* registrar,
                                                           const std::string& coordinator,
                                                           const std::stop_token& stop) {
  if (state.dashboard.empty()) return std::unique_ptr<dashboard::Server>();
  if (registrar == nullptr)
    return make_error(Code::invalid_argument,
                      "dashboard: this coordinator has no certificate authority of its own; start the page beside it "
                      "with: mangrove dashboard --coordinator " +
                          coordinator);
  MG_TRY(const cluster::HostPort where, cluster::parse_host_port(state.dashboard).context("dashboard"));
  MG_TRY(const fs::path token_file, dashboard_token(state.options.state_folder));
  MG_TRY(serve::Tokens tokens, serve::Tokens::load(token_file, dashboard::kTokenHolders));
  const ClusterAccess access{.coordinator = coordinator, .identity = registrar->admin_file()};
  const auto connect = [access](const std::stop_token& given_up) { return connect_client(access, given_up); };
  const bool is_for_others = !where.is_loopback();
  MG_TRY(auto server,
         dashboard::Server::start(connect, std::move(tokens), job_forms(coordinator, state.options.data_folder.path()),
                                  {.listen = state.dashboard,
                                   .credentials = is_for_others ? state.options.credentials : nullptr,
                                   .version = state.version},
                                  stop)
             .context("dashboard"));
  std::printf("dashboard on %s://%s/, its token in %s\n", is_for_others ? "https" : "http",
              cluster::reachable(server->address()).c_str(), token_file.c_str());
  return server;
}

Status run_coordinator(CoordinatorState& state, const std::stop_token& stop) {
  MG_RETURN_IF_ERROR(apply_service_settings(state.config, state.overrides, state.keys(), state.allowed));
  state.options.heartbeat_misses = static_cast<int>(state.misses);
  state.options.announces = !state.no_announce;
  ServiceNotice notice("coordinator", "reading its state");
  MG_TRY(const std::optional<FolderLock> lock, take_state_folder(state));
  state.options.data_folder =
      data::DataFolder::confined(data::data_folder(state.data_dir), {state.allowed.begin(), state.allowed.end()});
  set_log_name("coordinator");
  set_log_level(LogLevel::info);
  std::unique_ptr<cluster::Registrar> registrar;
  MG_RETURN_IF_ERROR(prepare_identity(state, registrar));
  state.options.listen = !state.listen.empty()       ? state.listen
                         : state.options.credentials ? "0.0.0.0:7070"
                                                     : "127.0.0.1:7070";
  MG_TRY(const auto coordinator, cluster::Coordinator::start(state.options));
  warn_if_insecure(state.options.insecure, coordinator->address());
  std::printf("coordinator ready on %s\n", coordinator->address().c_str());
  MG_TRY(const auto page, start_dashboard(state, registrar.get(), coordinator->address(), stop));
  std::fflush(stdout);
  {
    const ServiceNotice::Work work =
        notice.ready([&] { return ServiceNotice::State{.status = "nodes: " + format_count(coordinator->nodes())}; });
    wait_for_stop(stop);
  }
  if (page != nullptr) page->stop(kPageGrace);
  coordinator->shutdown();
  return {};
}

}  // namespace

void add_coordinator_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("coordinator", "start the coordinator, which tracks nodes and runs jobs");
  auto state = std::make_shared<CoordinatorState>();
  add_flags(*command, state->keys(), state->overrides);
  add_allow_path_flag(*command, state->allowed);
  add_config_flag(*command, state->config);
  command->footer(
      "Examples:\n"
      "  mangrove coordinator\n"
      "  mangrove coordinator --state state --listen 192.168.1.10:7070 \\\n"
      "                       --heartbeat-misses 20 --data-dir /mnt/usb/data\n"
      "  mangrove coordinator --state none       # for this machine alone\n"
      "  mangrove coordinator --dashboard 127.0.0.1:7080\n"
      "Every link is encrypted, and who takes part has been invited: `mangrove invite`\n"
      "prints a string for `mangrove node --join` or `mangrove join`.\n"
      "A coordinator ends on SIGINT (Ctrl-C) or SIGTERM, after running jobs have\n"
      "written their checkpoints.");
  command->callback([&app, &context, state] {
    state->version = app.version();
    context.action = [&context, state] { return run_coordinator(*state, context.stop); };
  });
}

}  // namespace mangrove::cli
