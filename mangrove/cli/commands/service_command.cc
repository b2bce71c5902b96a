#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/base/format.h"
#include "mangrove/base/parse_number.h"
#include "mangrove/base/printable.h"
#include "mangrove/base/stop.h"
#include "mangrove/cli/command.h"
#include "mangrove/cli/server_access.h"
#include "mangrove/cluster/cluster_status.h"
#include "mangrove/job/json_fields.h"
#include "mangrove/serve/client/open_inference_client.h"
#include "mangrove/serve/update/model_update.h"

namespace mangrove::cli {
namespace {

constexpr const char* kUsualServer = "http://127.0.0.1:8000";
constexpr Seconds kAskEvery = 0.5;
constexpr double kSmallestCanary = 0.001;

struct ServiceState {
  ClusterAccess access;  // of `list`; identity and insecure also of the others
  ServerFlags server;
  std::string name, model, canary;
  std::int64_t canary_requests = serve::TrialRule().requests;
  Overrides overrides;

  Keys keys() {
    Keys keys;
    server.declare(keys);
    keys.add("identity", access.identity, "PEM file with the key, certificate and authority to show");
    keys.add("insecure", access.insecure, "send a token to another machine in plain text");
    return keys;
  }
};

/// "10%" or "0.1". errors: invalid_argument.
Result<double> parse_share(const std::string& text) {
  const bool is_percent = text.ends_with('%');
  const double unit = is_percent ? 100 : 1;
  MG_TRY(const double number, parse_number(is_percent ? text.substr(0, text.size() - 1) : text, kSmallestCanary * unit,
                                           serve::kLargestShare * unit));
  return number / unit;
}

Result<std::unique_ptr<serve::OpenInferenceClient>> open_server(ServiceState& state, const std::stop_token& stop) {
  MG_RETURN_IF_ERROR(apply_overrides(state.overrides, state.keys()));
  if (state.server.url.empty()) state.server.url = kUsualServer;
  MG_TRY(const serve::ServerAccess access, server_access(state.server, state.access.identity, state.access.insecure));
  return std::make_unique<serve::OpenInferenceClient>(access, stop);
}

std::string repository_path(const std::string& name) {
  return "/v2/repository/models/" + serve::percent_encoded(name);
}

Result<serve::ServiceStatus> status_of(serve::OpenInferenceClient& client, const std::string& name) {
  MG_TRY(const serve::HttpReply reply, client.call({.target = repository_path(name)}));
  return job::parse_json<serve::ServiceStatus>(reply.body).context("the server's answer");
}

std::string record_text(const std::string& version, const serve::TrialRecord& record) {
  return fmt::format("version {}: {}, {} failed", version, format_things(record.requests, "request"),
                     format_count(record.failures));
}

std::string update_text(const serve::UpdateStatus& update) {
  std::string text = fmt::format("update to version {}: {}", printable(update.version), printable(update.state));
  if (update.share > 0)
    text += fmt::format(" ({} of the requests; {}; {})", format_percent(update.share, 1),
                        record_text(printable(update.version), update.fresh),
                        record_text(printable(update.before), update.old));
  return update.reason.empty() ? text : text + ": " + printable(update.reason);
}

/// Who began something; "-": nobody showed a certificate.
std::string name_or_dash(const std::string& who) {
  return who.empty() ? "-" : printable(who);
}

std::string service_table(const std::vector<serve::ServiceStatus>& services) {
  std::string table = fmt::format("{:<20} {:>7} {:<11} {:>6} {:>9} {:>7} {:>7} {:>9} {:>9}  {}\n", "model", "version",
                                  "state", "share", "answered", "failed", "waiting", "p50", "p99", "why");
  for (const serve::ServiceStatus& service : services) {
    for (const serve::VersionStatus& one : service.versions)
      table +=
          fmt::format("{:<20} {:>7} {:<11} {:>6} {:>9} {:>7} {:>7} {:>9} {:>9}  {}\n", printable(service.name),
                      printable(one.version), printable(one.state), format_percent(one.share, 0), one.answered,
                      one.failed, one.waiting, format_seconds(one.p50), format_seconds(one.p99), printable(one.reason));
    if (service.versions.empty()) table += fmt::format("{:<20} is not loaded\n", printable(service.name));
  }
  for (const serve::ServiceStatus& service : services)
    for (const serve::VersionStatus& one : service.versions)
      table += fmt::format("{}: version {} was begun at {} by {}\n", printable(service.name), printable(one.version),
                           printable(one.began), one.owner.empty() ? "the server's start" : printable(one.owner));
  for (const serve::ServiceStatus& service : services)
    if (service.update) table += printable(service.name) + ": " + update_text(*service.update) + "\n";
  return table;
}

Status print_services(const std::vector<serve::ServiceStatus>& services, const OutputOptions& output) {
  nlohmann::json rows = nlohmann::json::array();
  for (const serve::ServiceStatus& service : services) rows.push_back(nlohmann::json(job::json_of(service)));
  return print_result(nlohmann::json{{"services", rows}}, service_table(services), output);
}

/// The services that are jobs of a cluster.
Status list_of_cluster(const ServiceState& state, const CommandContext& context) {
  MG_TRY(const auto client, connect_client(state.access, context.stop));
  MG_TRY(const auto jobs, client->jobs());
  MG_TRY(const cluster::ListNodesResponse live, client->status(context.stop));
  nlohmann::json rows = nlohmann::json::array();
  constexpr const char* kRow = "{:<20} {:<8} {:<19}  {:<24} {:<40} {}\n";
  std::string table = fmt::format(kRow, "job", "state", "began (UTC)", "by", "what", "nodes");
  for (const cluster::JobStatus& job : jobs) {
    if (!cluster::is_service(job) || !job.ended().empty()) continue;
    nlohmann::json row = cluster::job_json(job);
    std::string nodes;
    for (const cluster::RankedNode& node : cluster::nodes_of(job.id(), live))
      nodes += (nodes.empty() ? "" : ", ") + printable(node.name);
    row.update(cluster::live_job_json(job.id(), live));
    rows.push_back(std::move(row));
    table += fmt::format(kRow, job.id(), job.state(), job.began(), name_or_dash(job.owner()), printable(job.title()),
                         nodes.empty() ? "none yet" : nodes);
  }
  return print_result(nlohmann::json{{"services", rows}}, table, context.output);
}

Status list_services(ServiceState& state, CommandContext& context) {
  MG_RETURN_IF_ERROR(apply_overrides(state.overrides, state.keys()));
  if (state.server.url.empty()) return list_of_cluster(state, context);
  MG_TRY(const auto client, open_server(state, context.stop));
  MG_TRY(const std::vector<std::string> names, client->models());
  std::vector<serve::ServiceStatus> services;
  for (const std::string& name : names) {
    MG_TRY(services.emplace_back(), status_of(*client, name));
  }
  return print_services(services, context.output);
}

Status show_service(ServiceState& state, CommandContext& context) {
  MG_TRY(const auto client, open_server(state, context.stop));
  MG_TRY(serve::ServiceStatus service, status_of(*client, state.name));
  return print_services({std::move(service)}, context.output);
}

/// Where it is told what became of an update that nobody follows any more.
std::string told_by_show(const std::string& name) {
  return "see mangrove service show " + printable(name);
}

/// Sends the network. Returns the number of the version that it becomes.
Result<std::string> begin_update(serve::OpenInferenceClient& client, const ServiceState& state) {
  MG_TRY(const std::string network, read_file(state.model));
  std::string target = repository_path(state.name) + "/update";
  if (!state.canary.empty()) {
    MG_TRY(const double share, parse_share(state.canary).context("--canary"));
    target += fmt::format("?share={}&requests={}", share, state.canary_requests);
  }
  MG_TRY(const serve::HttpReply reply, client.call({.method = "POST",
                                                    .target = target,
                                                    .content_type = "application/octet-stream",
                                                    .body = network,
                                                    .is_idempotent = false}));
  MG_TRY(const auto begun, job::parse_json<serve::UpdateBegun>(reply.body).context("the server's answer"));
  return begun.version;
}

/// Tells how the update to this version goes until it is decided. errors: aborted (another one has followed since).
Result<serve::ServiceStatus> follow_update(serve::OpenInferenceClient& client, const std::string& version,
                                           const ServiceState& state, const CommandContext& context) {
  std::string said;
  for (;;) {
    MG_TRY(serve::ServiceStatus service, status_of(client, state.name));
    if (!service.update) return make_error(Code::internal, "the server knows of no update of '" + state.name + "'");
    if (service.update->version != version)
      return make_error(Code::aborted,
                        fmt::format("the update to version {} is over, and somebody else has begun one "
                                    "to version {} since: {}",
                                    printable(version), printable(service.update->version), told_by_show(state.name)));
    if (service.update->is_over()) return service;
    const std::string line = update_text(*service.update);
    if (!context.output.quiet && line != said) std::fprintf(stderr, "%s\n", line.c_str());
    said = line;
    if (wait_for_stop(context.stop, kAskEvery))
      return make_error(Code::cancelled, "stopped; the update goes on: " + told_by_show(state.name));
  }
}

Status update_service(ServiceState& state, CommandContext& context) {
  MG_TRY(const auto client, open_server(state, context.stop));
  MG_TRY(const std::string version, begin_update(*client, state));
  MG_TRY(serve::ServiceStatus service, follow_update(*client, version, state, context));
  context.failed = !service.update->has_switched();
  return print_services({std::move(service)}, context.output);
}

Status stop_service(ServiceState& state, CommandContext& context) {
  MG_TRY(const auto client, open_server(state, context.stop));
  MG_RETURN_IF_ERROR(client->call(
      {.method = "POST", .target = repository_path(state.name) + "/unload", .body = "{}", .is_idempotent = false}));
  return print_result(nlohmann::json{{"name", state.name}, {"state", "stopped"}},
                      printable(state.name) + ": stopped, and all of its requests are answered\n", context.output);
}

using ServiceAction = Status(ServiceState& state, CommandContext& context);

CLI::App* add_service_action(CLI::App& command, CommandContext& context, const std::shared_ptr<ServiceState>& state,
                             const char* name, const char* help, ServiceAction* action) {
  auto* one = command.add_subcommand(name, help);
  if (action == &list_services)
    add_access_flags(*one, state->access);
  else
    one->add_option("name", state->name, "name of the model on the server")->required()->type_name("NAME");
  add_flags(*one, state->keys(), state->overrides);
  add_output_flags(*one, context.output);
  one->callback(
      [&context, state, action] { context.action = [&context, state, action] { return action(*state, context); }; });
  return one;
}

}  // namespace

void add_service_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("service", "list, show, update or stop models that are served");
  command->require_subcommand(1);
  auto state = std::make_shared<ServiceState>();
  add_service_action(*command, context, state, "list", "list the services of a cluster, or with --url of a server",
                     &list_services)
      ->footer(
          "Examples:\n"
          "  mangrove service list --coordinator 192.168.1.10:7070\n"
          "  mangrove service list --url http://127.0.0.1:8000");
  add_service_action(*command, context, state, "show", "show versions, shares and latencies of a model", &show_service)
      ->footer("Examples:\n  mangrove service show digits --url http://127.0.0.1:8000");
  auto* update = add_service_action(*command, context, state, "update",
                                    "change a model to another network, without losing a request", &update_service);
  update->add_option("--model", state->model, "the new network: an ONNX file")->required()->type_name("FILE");
  update
      ->add_option("--canary", state->canary,
                   "compare first: the new network gets this share of the requests, e.g. 10% (0.1% to 50%)")
      ->type_name("SHARE");
  update
      ->add_option("--canary-requests", state->canary_requests,
                   "requests that it must have answered before it takes over (1 to 100,000; default 200)")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, serve::kMostTrialRequests).description(""));
  update->footer(
      "Examples:\n"
      "  mangrove service update digits --model better.onnx --token-file admin.token\n"
      "  mangrove service update digits --model better.onnx --canary 10% \\\n"
      "                   --url https://192.168.1.10:8000 --identity admin.pem\n"
      "It follows the update to its end. Exit status 1: the old network stays,\n"
      "or an error says why the end is not known.");
  add_service_action(*command, context, state, "stop", "end a model, after the requests that it has", &stop_service)
      ->footer("Examples:\n  mangrove service stop digits --token-file admin.token");
  command->footer(
      "Examples:\n"
      "  mangrove service list --coordinator 192.168.1.10:7070\n"
      "  mangrove service show digits --url http://127.0.0.1:8000\n"
      "  mangrove service update digits --model better.onnx --canary 10%\n"
      "Without --url the server is http://127.0.0.1:8000. `mangrove serve` begins one.");
}

}  // namespace mangrove::cli
