#include <nlohmann/json.hpp>

#include "mangrove/base/clock.h"
#include "mangrove/cli/data_source.h"
#include "mangrove/cli/job_runner.h"
#include "mangrove/cli/model_source.h"
#include "mangrove/cli/rewriting.h"
#include "mangrove/data/dataset.h"
#include "mangrove/engine/optimize.h"
#include "mangrove/learn/evaluate.h"
#include "mangrove/learn/preparation.h"

namespace mangrove::cli {

Result<nlohmann::json> run_eval(const EvalSettings& settings, std::stop_token stop) {
  if (settings.model.empty()) return make_error(Code::invalid_argument, "no model: give --model FILE.onnx");
  MG_TRY(const std::set<std::string> disabled, parse_pass_names(settings.disable_pass));
  MG_TRY(const Graph loaded, load_model(settings.model, settings.input_shape));
  MG_TRY(const Graph graph, rewritten_for_inference(loaded, disabled).context("model " + settings.model));
  MG_TRY(const std::string name, ensure_data(settings.data, stop));
  const fs::path folder = data::data_folder(settings.data.data_dir);
  MG_TRY(const auto dataset, data::open_dataset(name, data::Split::test, folder));
  MG_RETURN_IF_ERROR(learn::check_fits(graph, *dataset).context("model " + settings.model));
  MG_TRY(const auto augmentation, learn::preparation_of(graph, folder).context("model " + settings.model));
  learn::ReplicaOptions options;
  options.batch = settings.batch;
  options.mode = Mode::inference;
  options.backend = settings.backend;
  options.threads = static_cast<int>(settings.threads);
  options.fuse = !disabled.contains(std::string(kFusePass));
  MG_TRY(const auto replica, learn::Replica::create(graph, options).context("model " + settings.model));
  SteadyClock clock;
  const Instant start = clock.now();
  MG_TRY(const learn::Evaluation evaluation,
         learn::evaluate(*replica, dataset, stop, augmentation).context("model " + settings.model));
  const Seconds seconds = clock.now() - start;
  const learn::ConfusionMatrix& matrix = evaluation.confusion;
  nlohmann::json rows = nlohmann::json::array();
  for (std::int32_t truth = 0; truth < matrix.classes(); ++truth) {
    const auto row =
        matrix.counts().subspan(static_cast<std::size_t>(truth) * static_cast<std::size_t>(matrix.classes()),
                                static_cast<std::size_t>(matrix.classes()));
    rows.push_back(std::vector<std::int64_t>(row.begin(), row.end()));
  }
  return nlohmann::json{{"model", settings.model},
                        {"data", name},
                        {"data_title", dataset->title()},
                        {"images", matrix.total()},
                        {"accuracy", matrix.accuracy()},
                        {"macro_f1", matrix.macro_f1()},
                        {"loss", evaluation.loss},
                        {"confusion", rows},
                        {"classes", dataset->class_names()},
                        {"seconds", seconds},
                        {"images_per_s", static_cast<double>(matrix.total()) / seconds}};
}

}  // namespace mangrove::cli
