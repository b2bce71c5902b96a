#include <cstdio>
#include <memory>

#include "mangrove/base/log.h"
#include "mangrove/base/stop.h"
#include "mangrove/cli/command.h"
#include "mangrove/cli/job_forms.h"
#include "mangrove/cli/service_notice.h"
#include "mangrove/cluster/address.h"
#include "mangrove/dashboard/server.h"
#include "mangrove/data/dataset.h"
#include "mangrove/net/credentials.h"

namespace mangrove::cli {
namespace {

constexpr Seconds kGrace = 3;  // for requests that have come when the dashboard is stopped

struct DashboardState {
  ClusterAccess access;
  dashboard::ServerOptions server;
  std::string server_identity, token_file, data_dir;
  Overrides overrides;

  Keys keys() {
    Keys keys;
    keys.begin_group("Page");
    keys.add("listen", server.listen,
             "HOST:PORT of the page; port 0: any free one; other machines reach it only with --server-identity");
    keys.add(
        "server_identity", server_identity,
        "PEM file with the key, certificate and authority of a node or coordinator: the page is served over HTTPS");
    keys.add("token_file", token_file,
             "file with a line 'viewer TOKEN', 'client TOKEN' or 'admin TOKEN' for each token that lets somebody in; "
             "default: a new token at each start, which may do what this user may");
    keys.add("data_dir", data_dir, "folder of the data sets that jobs from the page's form are made for");
    return keys;
  }
};

/// errors: invalid_argument (others could read what is sent).
Status check_listen(const DashboardState& state) {
  MG_TRY(const cluster::HostPort where, cluster::parse_host_port(state.server.listen).context("--listen"));
  if (where.is_loopback() || !state.server_identity.empty()) return {};
  return make_error(Code::invalid_argument,
                    "--listen: others reach " + state.server.listen +
                        ", so the page needs HTTPS: give --server-identity, or listen on 127.0.0.1 and reach it with: "
                        "ssh -L 7080:127.0.0.1:7080 THIS_MACHINE");
}

/// What this user may do at the coordinator: the role of the identity; without certificates everything.
Result<identity::Role> own_role(const ClusterAccess& access, const std::stop_token& stop) {
  MG_TRY(const auto credentials, find_own_credentials(access, stop));
  return credentials == nullptr ? identity::Role::admin : credentials->subject().role;
}

/// own: gets the token that was made, where there is no file; else "".
Result<serve::Tokens> tokens_of(const DashboardState& state, std::string& own) {
  if (!state.token_file.empty())
    return serve::Tokens::load(state.token_file, dashboard::kTokenHolders).context("--token-file");
  own = dashboard::make_token();
  return serve::Tokens::parse(std::string(role_name(state.server.own)) + " " + own, dashboard::kTokenHolders);
}

Status run_dashboard(DashboardState& state, const CommandContext& context) {
  MG_RETURN_IF_ERROR(apply_overrides(state.overrides, state.keys()));
  MG_RETURN_IF_ERROR(check_listen(state));
  ServiceNotice notice("dashboard", "connecting to the coordinator");
  set_log_name("dashboard");
  if (!state.server_identity.empty()) {
    MG_TRY(state.server.credentials, net::Credentials::load(state.server_identity).context("--server-identity"));
  }
  MG_TRY(state.server.own, own_role(state.access, context.stop));
  std::string token;
  MG_TRY(serve::Tokens tokens, tokens_of(state, token));
  const auto connect = [access = state.access](const std::stop_token& stop) { return connect_client(access, stop); };
  MG_TRY(const auto server,
         dashboard::Server::start(connect, std::move(tokens),
                                  job_forms(state.access.coordinator, data::data_folder(state.data_dir)), state.server,
                                  context.stop));
  // the token stands behind #: a browser does not send that part, so it gets into no log
  std::printf("dashboard of the cluster at %s:\n  %s://%s/%s%s\n", state.access.coordinator.c_str(),
              state.server.credentials == nullptr ? "http" : "https", cluster::reachable(server->address()).c_str(),
              token.empty() ? "" : "#token=", token.c_str());
  std::fflush(stdout);
  {
    const ServiceNotice::Work work = notice.ready([&] { return ServiceNotice::State{.status = server->address()}; });
    wait_for_stop(context.stop);
  }
  server->stop(kGrace);
  return {};
}

}  // namespace

void add_dashboard_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("dashboard", "show a running cluster as a page in the browser");
  auto state = std::make_shared<DashboardState>();
  add_flags(*command, state->keys(), state->overrides);
  add_access_flags(*command, state->access);
  command->footer(
      "Open the address that it prints. The page shows the nodes, their load and the\n"
      "jobs as they are, starts and stops trainings, and invites nodes, as far as this\n"
      "user may.\n"
      "Examples:\n"
      "  mangrove dashboard\n"
      "  mangrove dashboard --coordinator 192.168.1.10:7070\n"
      "  mangrove dashboard --listen 0.0.0.0:7080 --server-identity node.pem \\\n"
      "                     --token-file tokens\n"
      "It ends on Ctrl-C; jobs go on.");
  command->callback([&app, &context, state] {
    state->server.version = app.version();
    context.action = [&context, state] { return run_dashboard(*state, context); };
  });
}

}  // namespace mangrove::cli
