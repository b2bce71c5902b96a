#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "mangrove/base/format.h"
#include "mangrove/base/log.h"
#include "mangrove/base/printable.h"
#include "mangrove/base/stop.h"
#include "mangrove/base/suggestion.h"
#include "mangrove/base/table.h"
#include "mangrove/cli/command.h"
#include "mangrove/cli/reports/serve_report.h"
#include "mangrove/cli/reports/terminal.h"
#include "mangrove/cli/service_notice.h"
#include "mangrove/cli/sources/model_source.h"
#include "mangrove/cli/sources/rewriting.h"
#include "mangrove/data/dataset.h"
#include "mangrove/graph/exits.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/identity/identity.h"
#include "mangrove/infer/job_settings.h"
#include "mangrove/infer/keys.h"
#include "mangrove/infer/networks.h"
#include "mangrove/sensors/link_kinds.h"
#include "mangrove/sensors/sensor_service.h"
#include "mangrove/serve/cluster_model.h"
#include "mangrove/serve/loaded_model.h"
#include "mangrove/serve/model_options.h"
#include "mangrove/serve/model_repository.h"
#include "mangrove/serve/server.h"

namespace mangrove::cli {
namespace {

constexpr Seconds kShowEvery = 2;
constexpr Seconds kServerGrace = 5;  // for requests that have come when the server is stopped
constexpr Bytes kMostRequest = GiB(1);
constexpr Seconds kServiceNodesWithin = 10;  // for as many nodes as a service asks for

/// The cluster that computes the model, where it is not this process.
struct ClusterPart {
  std::string coordinator;
  ClusterSettings settings;  // nodes, priority, share and labels count
  infer::InferJob job;
  Overrides overrides;

  /// With those keys of a pipeline that mean something for a service.
  Keys keys() {
    Keys keys;
    keys.begin_group("Cluster");
    keys.add("coordinator", coordinator,
             "HOST:PORT: the nodes of this cluster compute the model, as a pipeline; then this process only answers");
    settings.declare_share(keys);
    infer::add_keys(job, keys);
    return keys;
  }
  static bool is_flag(const Key& key) {
    static constexpr std::array kOwn = {"coordinator", "nodes",       "priority",       "share",
                                        "node_labels", "micro_batch", "answer_timeout", "stages",
                                        "cuts",        "activations", "window",         "trust"};
    return std::ranges::find(kOwn, key.name) != kOwn.end();
  }
};

struct ServeState {
  serve::ModelOptions model;
  serve::ServerOptions server;
  ClusterPart cluster;
  std::string name, repository, identity, token_file, data_dir, sources, access_log;
  Overrides overrides;

  Keys keys() {
    Keys keys = serve::model_keys(model);
    keys.begin_group("Clients");
    keys.add("listen", server.http,
             "HOST:PORT of REST; port 0: any free one; without --identity or --insecure of this machine alone; \"\": "
             "no REST");
    keys.add("grpc", server.grpc, "HOST:PORT of gRPC, in the same way");
    keys.add("identity", identity,
             "PEM file with the key, certificate and authority of a node or coordinator: HTTPS and TLS for gRPC, where "
             "clients show a certificate of the cluster or a token");
    keys.add("token_file", token_file,
             "file with a line 'user TOKEN' or 'admin TOKEN' for each token that clients may show; admins may load and "
             "unload models");
    keys.add("insecure", server.insecure,
             "plain text at any address: everybody who reaches it may use the models; also to the coordinator");
    keys.add_bytes("max_request", server.limits.max_request, "longest body of a request", 1, kMostRequest);
    keys.add("access_log", access_log,
             "file that gets a line of JSON for each request to a model: when, who, status, times, id of its trace");
    keys.add("sources", sources,
             "YAML file of sensors that ask, over " + join_words(row_names(sensors::link_kinds())) +
                 ", and where the answers go (docs/sensors.md)");
    keys.add("data_dir", data_dir, "folder of the data sets; only a model trained with zca needs it, for classify");
    return keys;
  }
};

/// errors: those of net::Credentials::load(); permission_denied (the identity of somebody who is no server).
Result<std::shared_ptr<const net::Credentials>> server_identity(const std::string& file) {
  MG_TRY(auto credentials, net::Credentials::load(file));
  const identity::Role role = credentials->subject().role;
  if (role == identity::Role::node || role == identity::Role::coordinator) return credentials;
  return make_error(Code::permission_denied, file + " is the identity of a " + identity::role_name(role) +
                                                 "; a server needs that of a node or a coordinator");
}

Status prepare_server(ServeState& state) {
  state.server.limits.room = 4 * state.server.limits.max_request;
  state.server.data_folder = data::data_folder(state.data_dir);
  state.server.access_log = state.access_log;
  if (!state.identity.empty()) {
    MG_TRY(state.server.credentials, server_identity(state.identity).context("--identity"));
  }
  if (!state.token_file.empty()) {
    MG_TRY(state.server.tokens, serve::Tokens::load(state.token_file, serve::kTokenHolders).context("--token-file"));
  }
  return {};
}

Status add_models(const ServeState& state, serve::ModelRepository& models) {
  const bool has_model = !state.name.empty() || !state.model.file.empty();
  if (!state.cluster.coordinator.empty() && (!has_model || !state.repository.empty()))
    return make_error(Code::invalid_argument, "with --coordinator: give NAME and --model FILE");
  if (has_model && !state.repository.empty())
    return make_error(Code::invalid_argument, "give NAME and --model, or --repository, not both");
  if (!state.repository.empty()) return models.add_folder(state.repository, state.model);
  if (state.name.empty() || state.model.file.empty())
    return make_error(Code::invalid_argument, "no model: give NAME --model FILE, or --repository FOLDER");
  return models.add(state.name, state.model);
}

/// Of a folder, those that cannot be loaded are left out, with a warning. errors: those of loading (the only model, or
/// the last of a folder of which none can be loaded); not_found (a folder without models).
Status load_models(const ServeState& state, serve::ModelRepository& models) {
  bool is_any_ready = false;
  Status failed = make_error(Code::not_found, state.repository + ": no models in this folder");
  const std::string owner = state.server.credentials ? state.server.credentials->subject().uri() : "";
  for (const std::string& name : models.names()) {
    Status loaded = models.load(name, owner);
    is_any_ready = is_any_ready || loaded.ok();
    if (loaded.ok()) continue;
    if (!state.repository.empty()) log_warn("model not loaded", {{"model", name}, {"why", loaded.error().message}});
    failed = std::move(loaded);
  }
  return is_any_ready ? Status() : failed;
}

/// Where clients reach the server, for whoever reads standard output or, with --json, standard error.
void say_ready(const serve::Server& server, const ServeState& state, const OutputOptions& output) {
  const char* const scheme = state.server.credentials ? "https" : "http";
  std::string text = "serving";
  if (!server.http_address().empty()) text += fmt::format(" on {}://{}", scheme, server.http_address());
  if (!server.grpc_address().empty()) text += fmt::format(" and gRPC on {}", server.grpc_address());
  std::fprintf(output.json ? stderr : stdout, "%s\n", text.c_str());
  std::fflush(output.json ? stderr : stdout);
}

std::int64_t waiting_requests(const serve::ModelRepository& models) {
  std::int64_t waiting = 0;
  for (const serve::IndexEntry& entry : models.index())
    if (const auto model = models.find(entry.name, entry.version); model.ok())
      waiting += (*model)->statistics().waiting;
  return waiting;
}

/// Serves until stop is requested, and shows a person how it goes.
void serve_until_stopped(serve::Server& server, const std::function<std::int64_t()>& waiting,
                         const CommandContext& context) {
  const bool shows = !context.output.quiet && is_terminal(STDERR_FILENO);
  serve::TrafficCounts before = server.traffic();
  while (!wait_for_stop(context.stop, kShowEvery)) {
    serve::TrafficCounts now = server.traffic();
    if (shows) {
      const std::string line = serve_line(now.since(before), kShowEvery, waiting());
      std::fprintf(stderr, "\r%s\x1b[K", fitted(line, terminal_size(STDERR_FILENO).columns - 1).c_str());
    }
    before = std::move(now);
  }
  if (shows) std::fputs("\n", stderr);
}

/// The job of a service, without what ClusterModel adds. errors: those of infer::check_job() and of rewriting.
Result<cluster::JobSpec> service_job(const ServeState& state, const Graph& graph) {
  cluster::JobSpec job;
  *job.mutable_infer() = state.cluster.job;
  MG_TRY(const Graph rewritten, rewritten_for_inference(graph, {}));
  MG_RETURN_IF_ERROR(infer::set_network(rewritten, *job.mutable_infer()));
  job.mutable_infer()->set_backend(state.model.backend);
  MG_RETURN_IF_ERROR(infer::check_job(job.infer()));
  job.set_nodes(static_cast<std::int32_t>(state.cluster.settings.nodes));
  job.set_nodes_timeout_s(kServiceNodesWithin);
  state.cluster.settings.set_share(job);
  return job;
}

/// Versions that the nodes of a cluster compute, each as a job of its own; else those of this process.
serve::ModelMaker model_maker(const ServeState& state, const std::stop_token& stop) {
  if (state.cluster.coordinator.empty()) return &serve::make_engine_model;
  const ClusterAccess access{.coordinator = state.cluster.coordinator, .insecure = state.server.insecure};
  return [&state, stop, access](const Graph& graph, const std::string& name, const std::string& version,
                                const serve::ModelOptions& options) -> Result<std::shared_ptr<serve::LoadedModel>> {
    MG_TRY(cluster::JobSpec job, service_job(state, graph));
    MG_RETURN_IF_ERROR(connect_client(access, stop));  // what is wrong from the start is said at once
    MG_TRY(auto model,
           serve::ClusterModel::start(
               graph, name, version, std::move(job), [access, stop] { return connect_client(access, stop); }, options));
    return std::shared_ptr<serve::LoadedModel>(std::move(model));
  };
}

/// The network of a version. Nodes of a cluster compute it without its early exits.
Result<Graph> load_version(const ServeState& state, const serve::ModelOptions& options) {
  MG_TRY(Graph graph, load_model(options.file, options.input_shape));
  if (state.cluster.coordinator.empty() || !has_early_exits(graph)) return graph;
  return without_early_exits(graph);
}

/// Null: no sources were given. errors: those of load_sources() and SensorService::start().
Result<std::unique_ptr<sensors::SensorService>> start_sensors(serve::Models& models, const ServeState& state) {
  if (state.sources.empty()) return std::unique_ptr<sensors::SensorService>();
  MG_TRY(sensors::SourcesFile file, sensors::load_sources(state.sources));
  return sensors::SensorService::start(
      models, {.file = std::move(file), .model = state.name, .data_folder = state.server.data_folder});
}

/// Serves these models until stop is requested; `waiting` says how many requests wait.
Status serve_models(serve::Models& models, const ServeState& state, const std::function<std::int64_t()>& waiting,
                    ServiceNotice& notice, CommandContext& context) {
  MG_TRY(const auto sensors, start_sensors(models, state));
  serve::ServerOptions options = state.server;
  if (sensors) options.more_metrics = [raw = sensors.get()] { return sensors::metrics_text(raw->counts()); };
  MG_TRY(const auto server, serve::Server::start(models, options));
  if (state.server.credentials == nullptr) {
    warn_if_insecure(state.server.insecure, server->http_address());
    warn_if_insecure(state.server.insecure, server->grpc_address());
  }
  const SteadyClock clock;
  const Instant began = clock.now();
  {
    const ServiceNotice::Work work = notice.ready([&] {
      return ServiceNotice::State{.is_ready = models.is_ready(),
                                  .status = "requests that wait: " + format_count(waiting())};
    });
    say_ready(*server, state, context.output);
    serve_until_stopped(*server, waiting, context);
  }
  if (sensors) sensors->stop(kServerGrace);
  server->stop(kServerGrace);
  ServeReport report{.traffic = server->traffic(), .seconds = clock.now() - began, .sensors = {}};
  if (sensors) report.sensors = sensors->counts();
  return print_result(report.json(), report.text(), context.output);
}

Status run_serve(ServeState& state, CommandContext& context) {
  MG_RETURN_IF_ERROR(apply_overrides(state.overrides, state.keys()));
  MG_RETURN_IF_ERROR(apply_overrides(state.cluster.overrides, state.cluster.keys()));
  MG_RETURN_IF_ERROR(prepare_server(state));
  ServiceNotice notice("serve", "loading models");
  serve::ModelRepository models([&state](const serve::ModelOptions& options) { return load_version(state, options); },
                                model_maker(state, context.stop));
  MG_RETURN_IF_ERROR(add_models(state, models));
  MG_RETURN_IF_ERROR(load_models(state, models));
  serve::RepositoryModels served(models);
  return serve_models(
      served, state, [&] { return waiting_requests(models); }, notice, context);
}

}  // namespace

void add_serve_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("serve", "answer requests over HTTP and gRPC (Open Inference Protocol v2)");
  auto state = std::make_shared<ServeState>();
  command->add_option("name", state->name, "name of the model for clients")->type_name("");
  command->add_option("--model", state->model.file, "the network: an ONNX file")->type_name("FILE")->group("Model");
  command
      ->add_option("--repository", state->repository,
                   "in place of a name and --model: a folder with NAME/VERSION/model.onnx for each model, and perhaps "
                   "NAME/labels.txt")
      ->type_name("FOLDER")
      ->group("Model");
  add_flags(*command, state->keys(), state->overrides);
  add_flags(*command, state->cluster.keys(), state->cluster.overrides, &ClusterPart::is_flag);
  add_output_flags(*command, context.output);
  command->footer(
      "Examples:\n"
      "  mangrove serve digits --model runs/mine/model.onnx\n"
      "  mangrove serve --repository models/ --max-batch 32 --max-wait 5ms\n"
      "  mangrove serve digits --model model.onnx --listen 0.0.0.0:8000 \\\n"
      "                 --grpc 0.0.0.0:8001 --identity node.pem --token-file tokens\n"
      "  mangrove serve digits --model model.onnx --coordinator 192.168.1.10:7070 \\\n"
      "                 --stages 3 --priority 1\n"
      "  mangrove serve digits --model model.onnx --sources sensors.yaml\n"
      "  curl --data-binary @digit.png localhost:8000/v2/models/digits/classify\n"
      "It ends on SIGINT (Ctrl-C) or SIGTERM, after the requests that have come.");
  command->callback([&app, &context, state] {
    state->server.version = app.version();
    context.action = [&context, state] { return run_serve(*state, context); };
  });
}

}  // namespace mangrove::cli
