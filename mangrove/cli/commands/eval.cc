#include <nlohmann/json.hpp>

#include "mangrove/base/clock.h"
#include "mangrove/cli/job_runner.h"
#include "mangrove/cli/reports/eval_report.h"
#include "mangrove/cli/reports/exits_report.h"
#include "mangrove/cli/reports/progress.h"
#include "mangrove/cli/reports/run_facts.h"
#include "mangrove/cli/sources/data_source.h"
#include "mangrove/cli/sources/model_source.h"
#include "mangrove/cli/sources/rewriting.h"
#include "mangrove/data/dataset.h"
#include "mangrove/engine/optimize.h"
#include "mangrove/exits/evaluation.h"
#include "mangrove/graph/exits.h"
#include "mangrove/graph/views.h"
#include "mangrove/learn/evaluate.h"
#include "mangrove/learn/preparation.h"

namespace mangrove::cli {

namespace {

std::vector<std::vector<std::int64_t>> confusion_rows(const learn::ConfusionMatrix& matrix) {
  std::vector<std::vector<std::int64_t>> rows;
  const auto classes = static_cast<std::size_t>(matrix.classes());
  for (std::size_t truth = 0; truth < classes; ++truth) {
    const auto row = matrix.counts().subspan(truth * classes, classes);
    rows.emplace_back(row.begin(), row.end());
  }
  return rows;
}

/// Of one network on one data set.
struct Measured {
  learn::ConfusionMatrix confusion;
  Seconds seconds;
  std::optional<double> loss;
  std::optional<ExitsReport> exits;
};

Result<Measured> measure_whole(const Graph& graph, const EvalSettings& settings, bool fuse,
                               std::shared_ptr<const data::Dataset> dataset,
                               std::shared_ptr<const data::Augmentation> augmentation, const LoopProgress& progress,
                               std::stop_token stop) {
  learn::ReplicaOptions options;
  options.batch = settings.batch;
  options.mode = Mode::inference;
  options.backend = settings.backend;
  options.threads = static_cast<int>(settings.threads);
  options.fuse = fuse;
  MG_TRY(const auto replica, learn::Replica::create(graph, options));
  const SteadyClock clock;
  const Instant start = clock.now();
  MG_TRY(const learn::Evaluation evaluation,
         learn::evaluate(*replica, std::move(dataset), stop, augmentation, progress));
  return Measured{evaluation.confusion, clock.now() - start, evaluation.loss, {}};
}

Result<Measured> measure_exits(const Graph& graph, const std::vector<float>& thresholds, const EvalSettings& settings,
                               bool fuse, std::shared_ptr<const data::Dataset> dataset,
                               std::shared_ptr<const data::Augmentation> augmentation, const LoopProgress& progress,
                               std::stop_token stop) {
  const CompiledStageOptions options{.micro_batch = settings.batch,
                                     .backend = settings.backend,
                                     .threads = static_cast<int>(settings.threads),
                                     .fuse = fuse};
  MG_TRY(const exits::ExitEvaluation evaluation, exits::evaluate_exits(graph, thresholds, options, std::move(dataset),
                                                                       augmentation, SteadyClock(), stop, progress));
  return Measured{evaluation.confusion, evaluation.seconds, {}, exits_report(graph, thresholds, evaluation)};
}

}  // namespace

Result<nlohmann::json> run_eval(const EvalSettings& settings, const OutputOptions& output, std::stop_token stop) {
  if (settings.model.empty()) return make_error(Code::invalid_argument, "no model: give --model FILE.onnx");
  MG_TRY(const std::set<std::string> disabled, parse_pass_names(settings.disable_pass));
  MG_TRY(const Graph loaded, load_model(settings.model, settings.input_shape));
  MG_TRY(const Graph seen, without_views(loaded, settings.lost_views).context("model " + settings.model));
  MG_TRY(const Graph graph, rewritten_for_inference(seen, disabled).context("model " + settings.model));
  MG_TRY(const auto thresholds,
         exits::choose_exit_thresholds(settings.exit_thresholds, graph).context("model " + settings.model));
  MG_TRY(const std::string name, ensure_data(settings.data, stop));
  const fs::path folder = data::data_folder(settings.data.data_dir);
  MG_TRY(const auto dataset, data::open_dataset(name, data::Split::test, folder));
  MG_RETURN_IF_ERROR(learn::check_fits(graph, *dataset).context("model " + settings.model));
  MG_TRY(const auto augmentation, learn::preparation_of(graph, folder).context("model " + settings.model));
  const bool fuse = !disabled.contains(std::string(kFusePass));
  const Graph whole = has_early_exits(graph) ? without_early_exits(graph) : graph;
  ProgressDisplay display(shows_progress(output));
  const LoopProgress progress(display, "evaluate", dataset->size());
  MG_TRY(const Measured measured,
         (thresholds ? measure_exits(graph, *thresholds, settings, fuse, dataset, augmentation, progress, stop)
                     : measure_whole(whole, settings, fuse, dataset, augmentation, progress, stop))
             .context("model " + settings.model));
  display.finish();
  const learn::ConfusionMatrix& matrix = measured.confusion;
  const EvalReport report{.model = settings.model,
                          .data = name,
                          .data_title = dataset->title(),
                          .images = matrix.total(),
                          .accuracy = matrix.accuracy(),
                          .macro_f1 = matrix.macro_f1(),
                          .confusion = confusion_rows(matrix),
                          .classes = dataset->class_names(),
                          .seconds = measured.seconds,
                          .images_per_s = static_cast<double>(matrix.total()) / measured.seconds,
                          .loss = measured.loss};
  nlohmann::json result = job::json_of(report);
  if (measured.exits) result.update(nlohmann::json(job::json_of(*measured.exits)));
  RunFacts facts;
  facts.in_place_of = in_place_of(settings.data, name);
  facts.add_to(result);
  return result;
}

}  // namespace mangrove::cli
