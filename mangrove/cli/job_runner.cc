#include "mangrove/cli/job_runner.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <tuple>

#include "mangrove/cli/command.h"
#include "mangrove/cli/reports/frame_answers.h"
#include "mangrove/cli/reports/report_keeper.h"
#include "mangrove/cli/reports/run_facts.h"
#include "mangrove/cli/reports/run_report.h"
#include "mangrove/cli/sources/data_source.h"
#include "mangrove/cli/sources/frame_input.h"
#include "mangrove/cli/sources/model_source.h"
#include "mangrove/cli/sources/rewriting.h"
#include "mangrove/cli/tier_job.h"
#include "mangrove/cli/training_phases.h"
#include "mangrove/data/data_folder.h"
#include "mangrove/data/dataset.h"
#include "mangrove/data/spec.h"
#include "mangrove/engine/optimize.h"
#include "mangrove/exits/early_exit.h"
#include "mangrove/graph/exits.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/graph/views.h"
#include "mangrove/infer/job_settings.h"
#include "mangrove/infer/networks.h"
#include "mangrove/infer/strategy.h"
#include "mangrove/job/machine.h"
#include "mangrove/learn/replica.h"
#include "mangrove/learn/trainable.h"
#include "mangrove/train/job_settings.h"
#include "mangrove/train/strategy.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

constexpr Seconds kNodesWithin = 10;         // for as many nodes as a job asks for
constexpr Seconds kEmbeddedNodesWithin = 2;  // which have joined before the job

/// An ONNX file, its open dimensions as the key input_shape says.
Result<Graph> read_model(const std::string& path, const std::string& input_shape) {
  if (path.empty()) return make_error(Code::invalid_argument, "no model: give --model FILE.onnx");
  return load_model(path, input_shape);
}

/// The data set with so much of its training samples kept for validation, unless it has a validation split, or the
/// person has said how much.
Result<std::string> with_validation(const std::string& data, double validation, const data::DataFolder& folder) {
  MG_TRY(data::DatasetSpec spec, data::DatasetSpec::parse(data));
  if (validation == 0 || spec.option("validation")) return data;
  const auto own = data::open_dataset(data, data::Split::validation, folder);
  if (own.ok()) return data;
  if (own.code() != Code::not_found) return own.error();
  spec.options.emplace_back("validation", fmt::format("{}", validation));
  return spec.text();
}

/// What nodes of this machine would all say of its data is said here: once, and before there are nodes.
Status check_data_here(const TrainSettings& settings, const std::string& data, const data::DataFolder& data_folder,
                       const Graph& network, const data::Dataset& train) {
  if (!settings.cluster.coordinator.empty()) return {};
  MG_RETURN_IF_ERROR(data::open_dataset(data, data::Split::test, data_folder));
  return learn::check_fits(network, train).context("data set '" + data + "'");
}

/// The keys of the job, before it has a network and data.
train::TrainJob job_of(const TrainSettings& settings) {
  train::TrainJob job = settings.job;
  if (job.optimizer().empty()) job.set_optimizer(settings.init_from.empty() ? "momentum" : "adam");
  return job;
}

/// What is wrong with the job whatever its data are.
Status check_without_data(const TrainSettings& settings) {
  MG_RETURN_IF_ERROR(check_transfer(settings));
  MG_RETURN_IF_ERROR(train::check_job(job_of(settings)));
  const std::string& name = settings.network();
  if (!is_model_file(name)) MG_RETURN_IF_ERROR(zoo::check_model_name(name));
  if (!settings.init_from.empty()) return check_new_head(settings);  // which can be trained
  if (!is_model_file(name)) return {};
  MG_TRY(const Graph network, load_model(name, settings.input_shape));
  return learn::check_trainable(network).context("model " + name);
}

Result<train::TrainJob> make_job(const TrainSettings& settings, const std::string& data,
                                 const data::DataFolder& data_folder) {
  MG_RETURN_IF_ERROR(check_transfer(settings));
  MG_TRY(const auto dataset, data::open_dataset(data, data::Split::train, data_folder));
  MG_TRY(const Graph network, initial_network(settings, *dataset));
  MG_RETURN_IF_ERROR(learn::check_trainable(network).context("model " + settings.network()));
  MG_RETURN_IF_ERROR(check_data_here(settings, data, data_folder, network, *dataset));
  train::TrainJob job = job_of(settings);
  job.set_model(encode_onnx(network));
  job.set_data(data);
  // Embedded nodes share this machine, so what each may take by default is its part.
  const bool is_shared = job.memory() == 0 && settings.cluster.is_local() && settings.cluster.local > 1;
  if (is_shared) job.set_memory(job::Machine().usual_memory() / settings.cluster.local);
  MG_RETURN_IF_ERROR(train::check_job(job));
  return job;
}

/// When samples leave a network that lies over devices with a view each; none: only at its last exit.
Status add_view_thresholds(const InferSettings& settings, const Graph& graph, infer::InferJob& job) {
  MG_RETURN_IF_ERROR(split_views(graph));
  MG_TRY(const auto thresholds, exits::choose_exit_thresholds(settings.exit_thresholds, graph));
  if (thresholds) job.mutable_exit_thresholds()->Add(thresholds->begin(), thresholds->end());
  return {};
}

/// The network, or those of an ensemble.
Status add_networks(const InferSettings& settings, const infer::Strategy& strategy, infer::InferJob& job) {
  MG_TRY(const std::set<std::string> disabled, parse_pass_names(settings.disable_pass));
  using infer::Networks;
  if (strategy.networks == Networks::of_tiers)
    return make_error(Code::invalid_argument, "strategy '" + settings.job.strategy() + "' needs --tiers FILE");
  const bool has_views = strategy.networks == Networks::with_views;
  const std::vector<std::string> members = parse_names(settings.models);
  const bool is_ensemble = strategy.networks == Networks::members;
  if (is_ensemble && members.empty())
    return make_error(Code::invalid_argument,
                      "strategy '" + settings.job.strategy() + "' needs --models a.onnx,b.onnx");
  for (const std::string& path : is_ensemble ? members : std::vector{settings.model}) {
    MG_TRY(const Graph graph, read_model(path, settings.input_shape));
    if (has_views) MG_RETURN_IF_ERROR(add_view_thresholds(settings, graph, job).context("model " + path));
    const Graph whole = has_early_exits(graph) && !has_views ? without_early_exits(graph) : graph;
    MG_TRY(const Graph rewritten, rewritten_for_inference(whole, disabled).context("model " + path));
    if (is_ensemble) {
      job.add_members(encode_onnx(rewritten));
    } else {
      MG_RETURN_IF_ERROR(infer::set_network(rewritten, job).context("model " + path));
    }
  }
  return {};
}

/// nodes: how many there are, where the job says it; else as it was.
Result<infer::InferJob> make_job(const InferSettings& settings, const std::string& data, std::int64_t& nodes) {
  MG_TRY(const infer::Strategy* strategy, infer::find_strategy(settings.job.strategy()));
  infer::InferJob job = settings.job;
  if (settings.tiers.empty()) {
    MG_RETURN_IF_ERROR(add_networks(settings, *strategy, job));
  } else {
    MG_TRY(nodes, add_tiers(settings, data, data::data_folder(settings.data.data_dir), job));
  }
  MG_TRY(const std::set<std::string> disabled, parse_pass_names(settings.disable_pass));
  job.set_unfused(disabled.contains(std::string(kFusePass)));
  job.set_data(data);
  job.set_frames(!settings.input.empty());
  MG_RETURN_IF_ERROR(infer::check_job(job));
  return job;
}

/// What is wrong with the job whatever its data are.
Status check_without_data(const InferSettings& settings) {
  MG_RETURN_IF_ERROR(infer::find_strategy(settings.job.strategy()));
  if (!settings.tiers.empty()) return check_tier_file(settings);
  std::int64_t nodes = 0;
  MG_RETURN_IF_ERROR(make_job(settings, "", nodes));
  return {};
}

/// A coordinator that does not answer is found before data are downloaded for its job.
template <class Settings>
Status check_before_download(const Settings& settings, JobContext& context, const JobRunner& player) {
  MG_RETURN_IF_ERROR(check_without_data(settings));
  if (player || settings.cluster.coordinator.empty()) return {};
  const fs::path folder = data::data_folder(settings.data.data_dir);
  MG_RETURN_IF_ERROR(context.session.connect(settings.cluster, folder, context.folder.logs(), context.stop));
  return {};
}

Result<json> play_job(const cluster::JobSpec& job, const JobRunner& player, JobContext& context,
                      const RunPhase& phase = {}) {
  ReportKeeper keeper(context, phase);
  const Status ended = player(job, [&](Report report) { keeper.take(std::move(report)); });
  return keeper.finish(ended);
}

/// Images that are pushed while answers come.
struct Pushed {
  FrameInput& input;
  std::int64_t limit;   // 0: all
  Status printed = {};  // why answers cannot be told any more
};

/// The source of the frames, until answers cannot be told any more.
cluster::FrameSource frames_of(Pushed& pushed) {
  return [&pushed, given = std::int64_t{0}](const std::stop_token& stop) mutable -> std::optional<job::Frame> {
    if (pushed.limit > 0 && given == pushed.limit) return std::nullopt;
    ++given;
    return pushed.input.next(stop);
  };
}

/// pushed: null: the job asks for no frames.
Result<json> run_job(cluster::JobSpec job, const ClusterSettings& cluster_settings, const DataSettings& data,
                     JobContext& context, const RunPhase& phase = {}, Pushed* pushed = nullptr) {
  const fs::path folder = data::data_folder(data.data_dir);
  MG_TRY(cluster::Client * client,
         context.session.connect(cluster_settings, folder, context.folder.logs(), context.stop));
  job.set_nodes(
      static_cast<std::int32_t>(cluster_settings.is_local() ? cluster_settings.local : cluster_settings.nodes));
  cluster_settings.set_share(job);
  job.set_nodes_timeout_s(cluster_settings.is_local() ? kEmbeddedNodesWithin : kNodesWithin);
  const auto on_cluster = [&](const cluster::JobSpec& whole, const Reporter& report) -> Status {
    if (pushed == nullptr) return client->run(whole, report, context.stop);
    std::stop_source stop;  // also where answers cannot be told any more
    const std::stop_callback stopped(context.stop, [&] { stop.request_stop(); });
    const auto take = [&](Report news) {
      if (news.kind != ReportKind::answers) return report(std::move(news));
      const Result<std::int64_t> printed = print_answers(news.json, context.output);
      if (printed.ok()) return pushed->input.answered(*printed);
      pushed->printed = printed.error();
      stop.request_stop();
    };
    const Status ended = client->run(whole, take, stop.get_token(), frames_of(*pushed));
    return pushed->printed.ok() ? ended : pushed->printed;
  };
  Result<json> played = play_job(job, on_cluster, context, phase);
  if (played.ok()) return played;
  // a cluster that has lost a process says only what it misses
  Error failed = played.error();
  if (failed.code == Code::unavailable || failed.code == Code::deadline_exceeded)
    for (const std::string& death : context.session.deaths()) failed.message += "; " + death;
  return failed;
}

}  // namespace

Result<json> run_train(const TrainSettings& settings, JobContext& context, const JobRunner& player) {
  context.is_embedded = !player && settings.cluster.is_local();
  MG_TRY(const std::string data,
         ensure_data(settings.data, context.stop, [&] { return check_before_download(settings, context, player); }));
  const fs::path folder = data::data_folder(settings.data.data_dir);
  MG_TRY(const std::string split, with_validation(data, settings.validation, folder));
  MG_TRY(train::TrainJob whole, make_job(settings, split, folder));
  const auto play = [&](const train::TrainJob& part, const RunPhase& phase) {
    cluster::JobSpec job;
    *job.mutable_train() = part;
    return player ? play_job(job, player, context, phase)
                  : run_job(std::move(job), settings.cluster, settings.data, context, phase);
  };
  Result<json> ran = run_training_phases(settings, std::move(whole), context.folder, play);
  if (!ran.ok()) {
    std::ignore = write_report(context.folder);  // why the run failed says more
    return ran.error();
  }
  json result = std::move(*ran);
  RunFacts facts;
  facts.model = settings.network();
  facts.data = data;
  facts.is_embedded = context.is_embedded;
  facts.in_place_of = in_place_of(settings.data, data);
  facts.report = (context.folder.path() / "report.html").string();
  facts.model_file = (context.folder.path() / "model.onnx").string();
  facts.add_to(result);
  return result;
}

namespace {

Result<json> run_infer_on_input(const InferSettings& settings, JobContext& context) {
  MG_TRY(const std::unique_ptr<FrameInput> input, FrameInput::open(settings.input));
  cluster::JobSpec job;
  if (!settings.tiers.empty())
    return make_error(Code::invalid_argument, "input: tiers classify data sets: give --data, not --input");
  std::int64_t nodes = 0;
  MG_TRY(*job.mutable_infer(), make_job(settings, "", nodes));
  Pushed pushed{*input, settings.job.limit()};
  MG_TRY(json result, run_job(std::move(job), settings.cluster, settings.data, context, {}, &pushed));
  RunFacts facts;
  facts.model = settings.model;
  facts.input = settings.input;
  facts.add_to(result);
  return result;
}

}  // namespace

Result<json> run_infer(const InferSettings& settings, JobContext& context, const JobRunner& player) {
  if (!settings.input.empty()) return run_infer_on_input(settings, context);
  MG_TRY(const std::string data,
         ensure_data(settings.data, context.stop, [&] { return check_before_download(settings, context, player); }));
  cluster::JobSpec job;
  ClusterSettings cluster = settings.cluster;
  MG_TRY(*job.mutable_infer(), make_job(settings, data, cluster.is_local() ? cluster.local : cluster.nodes));
  MG_TRY(json result,
         player ? play_job(job, player, context) : run_job(std::move(job), cluster, settings.data, context));
  RunFacts facts;
  facts.model = !settings.tiers.empty() ? settings.tiers : !settings.models.empty() ? settings.models : settings.model;
  facts.data = data;
  facts.in_place_of = in_place_of(settings.data, data);
  facts.add_to(result);
  return result;
}

Result<cluster::JobSpec> train_job(const TrainSettings& settings, const data::DataFolder& data_folder) {
  MG_RETURN_IF_ERROR(check_without_data(settings));
  MG_TRY(const std::string split, with_validation(settings.data.data, settings.validation, data_folder));
  cluster::JobSpec job;
  MG_TRY(*job.mutable_train(), make_job(settings, split, data_folder));
  job.set_nodes(static_cast<std::int32_t>(settings.cluster.nodes));
  job.set_nodes_timeout_s(kNodesWithin);
  settings.cluster.set_share(job);
  return job;
}

Result<json> follow_job(cluster::Client& client, const std::string& id, JobContext& context) {
  ReportKeeper keeper(context);
  const Status ended = client.follow(
      id, [&](const Report& report) { keeper.take(report); }, context.stop);
  return keeper.finish(ended);
}

}  // namespace mangrove::cli
