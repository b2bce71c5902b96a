#include "mangrove/cli/training_phases.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <tuple>
#include <utility>

#include "mangrove/base/json_dump.h"
#include "mangrove/cli/command.h"
#include "mangrove/cli/reports/run_facts.h"
#include "mangrove/cli/sources/model_source.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/graph/split.h"
#include "mangrove/job/json_fields.h"
#include "mangrove/train/data_parallel/privacy_key.h"
#include "mangrove/zoo/new_head.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

constexpr const char* kNoFreeze = "none";
constexpr const char* kBackbone = "backbone";

/// Of a run with a frozen part: whether everything is trained after the head.
bool has_two_phases(const TrainSettings& settings) {
  return settings.job.epochs() > settings.head_epochs;
}

/// The job goes on from this checkpoint.
Status resume_from(const fs::path& checkpoint, train::TrainJob& job) {
  MG_TRY(*job.mutable_resume_from(), read_file(checkpoint).context("resume"));
  return {};
}

/// Splits a network into the part that `freeze` names, which is everything that a node's output needs, and the rest.
Result<GraphHalves> split_frozen(const std::string& freeze, const Graph& network) {
  return split_behind(network, freeze == kBackbone ? zoo::kHeadFeatures : freeze).context("freeze");
}

/// The job with this part of its network frozen.
Result<train::TrainJob> with_frozen_part(const std::string& freeze, train::TrainJob job) {
  MG_TRY(const Graph network, parse_onnx(job.model()).context("model"));
  MG_TRY(const GraphHalves halves, split_frozen(freeze, network));
  job.set_frozen(encode_onnx(halves.front));
  job.set_model(encode_onnx(halves.back));
  return job;
}

bool is_there(const fs::path& file) {
  std::error_code unreadable;
  return fs::exists(file, unreadable);
}

/// Whether the run that is resumed has trained the head, and left what its fine tuning can begin with.
bool has_trained_head(const RunFolder& folder) {
  return is_there(folder.head_result_path()) &&
         (folder.model(RunFolder::kHeadPrefix).ok() || is_there(folder.checkpoint_path()));
}

/// What a run of two phases needs of the result of one.
struct PhaseResult {
  std::int64_t epochs = 0;
  Seconds train_seconds = 0;
  std::optional<std::int64_t> best_epoch;

  static void fields(auto& self, auto& field) {
    field("epochs", self.epochs);
    field("train_seconds", self.train_seconds);
    field("best_epoch", self.best_epoch);
  }
};

/// Trains the head, unless the run that is resumed has done so. The result's file is written last: it says that the
/// phase is over.
Result<json> head_phase(const TrainSettings& settings, train::TrainJob job, RunFolder& folder,
                        const PhasePlayer& play) {
  const fs::path result_path = folder.head_result_path();
  if (!settings.resume.empty() && has_trained_head(folder)) {
    MG_TRY(const std::string text, read_file(result_path).context("resume"));
    json result = json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (job::read_json<PhaseResult>(result).ok()) return result;
    return make_error(Code::data_loss, "resume: " + result_path.string() + ": no result of a training");
  }
  const RunPhase phase{.name = "head", .file_prefix = RunFolder::kHeadPrefix, .epochs = settings.job.epochs()};
  job.set_epochs(settings.head_epochs);
  if (!settings.resume.empty()) MG_RETURN_IF_ERROR(resume_from(folder.checkpoint_path(RunFolder::kHeadPrefix), job));
  MG_TRY(json result, play(job, phase));
  for (const char* key : {"nodes", "events", "run_dir"}) result.erase(key);
  std::ignore = folder.write(result_path.filename().string(), dump(result, 2) + "\n");  // see unsaved()
  return result;
}

/// Goes on from the network that the head phase has left, or from a checkpoint, which has all values of one.
Result<json> fine_tuning_phase(const TrainSettings& settings, const json& head, train::TrainJob job, RunFolder& folder,
                               const PhasePlayer& play) {
  const std::int64_t epochs = settings.job.epochs() - settings.head_epochs;
  RunPhase phase{.name = "fine_tuning"};
  MG_TRY(const auto before, job::read_json<PhaseResult>(head).context("result of the head"));
  phase.epochs_done = before.epochs;
  phase.epochs = phase.epochs_done + epochs;
  phase.seconds_done = before.train_seconds;
  const bool has_checkpoint = !settings.resume.empty() && is_there(folder.checkpoint_path());
  Result<std::string> model = folder.model(RunFolder::kHeadPrefix);
  if (!model.ok() && !has_checkpoint) return model.error();
  if (model.ok()) job.set_model(*std::move(model));
  job.set_epochs(epochs);
  job.set_learning_rate(static_cast<float>(settings.fine_tune_rate));
  if (has_checkpoint) MG_RETURN_IF_ERROR(resume_from(folder.checkpoint_path(), job));
  MG_TRY(json result, play(job, phase));
  MG_TRY(auto both, job::read_json<PhaseResult>(result).context("result"));
  both.epochs += before.epochs;
  if (both.best_epoch) *both.best_epoch += before.epochs;
  result.update(json(job::json_of(both)));
  RunFacts facts;
  facts.head = head;
  facts.add_to(result);
  return result;
}

}  // namespace

Status check_transfer(const TrainSettings& settings) {
  if (settings.freeze == kNoFreeze) return {};
  if (settings.init_from.empty())
    return make_error(
        Code::invalid_argument,
        "freeze: '" + settings.freeze + "' is for a network that has learnt something: give it with init_from");
  MG_TRY(const auto privacy, train::parse_privacy(settings.job.privacy()));
  if (!privacy || !has_two_phases(settings)) return {};
  return make_error(Code::invalid_argument,
                    "privacy: each phase of freeze would spend all of epsilon; use head_epochs " +
                        std::to_string(settings.job.epochs()) + ", so that only the head is trained, or freeze none");
}

Status check_new_head(const TrainSettings& settings) {
  const std::string& name = settings.network();
  const Result<Graph> network = open_model(name, {.sample_shape = {}, .input_shape = settings.input_shape});
  if (!network.ok() && !is_model_file(name)) return {};  // it may fit the data, if not the samples of its paper
  if (!network.ok()) return network.error();
  const Shape input = network->inputs().empty() ? Shape() : network->inputs()[0].second.shape;
  const Shape sample({input.begin() + std::min<std::ptrdiff_t>(1, std::ssize(input.dims())), input.end()});
  constexpr std::int64_t kClasses = 2;  // any number: no node's name depends on it
  MG_TRY(const Graph headed, zoo::with_new_head(*network, sample, kClasses, settings.job.seed()).context("init_from"));
  if (settings.freeze == kNoFreeze) return {};
  MG_RETURN_IF_ERROR(split_frozen(settings.freeze, headed));
  return {};
}

Result<Graph> initial_network(const TrainSettings& settings, const data::Dataset& dataset) {
  const std::string& name = settings.network();
  const zoo::ModelOptions options{
      .sample_shape = dataset.sample_shape(), .classes = dataset.classes(), .seed = settings.job.seed()};
  MG_TRY(const Graph network,
         is_model_file(name) ? load_model(name, settings.input_shape) : zoo::build_model(name, options));
  if (settings.init_from.empty()) return network;
  return zoo::with_new_head(network, options.sample_shape, options.classes, options.seed).context("init_from");
}

Result<json> run_training_phases(const TrainSettings& settings, train::TrainJob job, RunFolder& folder,
                                 const PhasePlayer& play) {
  const bool resumes = !settings.resume.empty();
  if (resumes) folder.append_metrics();
  if (settings.freeze != kNoFreeze) {
    MG_TRY(train::TrainJob frozen, with_frozen_part(settings.freeze, job));
    if (has_two_phases(settings)) {
      MG_TRY(const json head, head_phase(settings, std::move(frozen), folder, play));
      return fine_tuning_phase(settings, head, std::move(job), folder, play);
    }
    job = std::move(frozen);
  }
  if (resumes) MG_RETURN_IF_ERROR(resume_from(folder.checkpoint_path(), job));
  return play(job, {});
}

}  // namespace mangrove::cli
