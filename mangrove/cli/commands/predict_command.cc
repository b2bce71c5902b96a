#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "mangrove/base/suggestion.h"
#include "mangrove/cli/command.h"
#include "mangrove/cli/flag_ranges.h"
#include "mangrove/cli/reports/predict_report.h"
#include "mangrove/cli/reports/progress.h"
#include "mangrove/cli/sources/model_source.h"
#include "mangrove/cli/sources/rewriting.h"
#include "mangrove/engine/known_backends.h"
#include "mangrove/exits/early_exit.h"
#include "mangrove/exits/keeper.h"
#include "mangrove/graph/exits.h"
#include "mangrove/serve/class_labels.h"
#include "mangrove/tensor/npy.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

struct PredictState {
  std::string model;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::string mean, deviation, labels;
  std::int64_t batch = 0;
  std::int64_t threads = 1;
  std::string backend, disable_pass, input_shape, data_dir, exit_thresholds;
  Keys keys;
  Overrides overrides;
};

bool is_array(const std::string& path) {
  return fs::path(path).extension() == ".npy";
}

Result<std::unique_ptr<SampleSource>> open_source(const PredictState& state, const Graph& graph) {
  if (state.inputs.empty()) {
    return make_error(Code::invalid_argument, "no input: give --input with an .npy file, an image or a folder");
  }
  const auto arrays = std::ranges::count_if(state.inputs, is_array);
  if (arrays == static_cast<std::ptrdiff_t>(state.inputs.size())) return open_arrays(graph, state.inputs);
  if (arrays > 0) return make_error(Code::invalid_argument, "--input: either .npy files or images, not both");
  MG_TRY(const learn::ImagePreparation chosen, preparation_for(graph, state.mean, state.deviation, state.data_dir));
  return open_images(graph, state.inputs, chosen);
}

/// Which output goes to which file: "y.npy" for the only one, else "name=y.npy".
Status write_outputs(const PredictState& state, const Predictions& predictions) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : predictions.outputs) names.push_back(name);
  for (const std::string& argument : state.outputs) {
    const auto named = std::ranges::find_if(names, [&](const auto& name) { return argument.starts_with(name + "="); });
    if (named == names.end() && names.size() > 1) {
      return make_error(Code::invalid_argument, "--output " + argument + ": the model has the outputs " +
                                                    join_words(names) + ", give --output NAME=FILE.npy");
    }
    const std::size_t index = named == names.end() ? 0 : static_cast<std::size_t>(named - names.begin());
    const std::string path = named == names.end() ? argument : argument.substr(named->size() + 1);
    MG_RETURN_IF_ERROR(write_file_atomically(path, encode_npy(predictions.outputs[index].second)));
  }
  return {};
}

Status run_predict(PredictState& state, CommandContext& context) {
  MG_RETURN_IF_ERROR(apply_overrides(state.overrides, state.keys));
  MG_TRY(const std::set<std::string> disabled, parse_pass_names(state.disable_pass));
  MG_TRY(const Graph graph, load_model(state.model, state.input_shape));
  const std::string where = "model " + state.model;
  MG_TRY(const std::vector<std::string> labels,
         serve::class_labels(state.labels, graph).context("--labels").context(where));
  MG_TRY(const std::unique_ptr<SampleSource> source, open_source(state, graph).context(where));
  MG_TRY(const auto thresholds, exits::choose_exit_thresholds(state.exit_thresholds, graph).context(where));
  std::vector<float> kept_shares;
  if (thresholds && state.exit_thresholds.empty()) {
    MG_TRY(const auto shares, exits::kept_exit_shares(graph).context(where));
    kept_shares = shares.value_or(std::vector<float>());
  }
  const PredictOptions options{.batch = state.batch,
                               .backend = state.backend,
                               .threads = static_cast<int>(state.threads),
                               .disabled_passes = disabled,
                               .exit_thresholds = thresholds,
                               .exit_shares = kept_shares};
  ProgressDisplay display(!context.output.quiet && source->count() > options.batch);
  const LoopProgress progress(display, "predict", source->count());
  MG_TRY(const Predictions predictions, run_model(graph, *source, options, progress, context.stop).context(where));
  display.finish();
  MG_RETURN_IF_ERROR(write_outputs(state, predictions));
  const bool all_outputs = predictions.outputs.size() == graph.outputs().size();
  json report = predict_report(predictions, *source, labels, all_outputs ? answering_output(graph) : 0);
  report["model"] = state.model;
  context.failed = report["failed"] > 0;
  return print_result(report, predict_table(report), context.output);
}

}  // namespace

void add_predict_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("predict", "run a network on arrays or images, in this process");
  auto state = std::make_shared<PredictState>();
  state->batch = 1;
  Keys& keys = state->keys;
  keys.begin_group("Input");
  keys.add("mean", state->mean,
           "mean to subtract from image channels (0 to 1), e.g. 0.485,0.456,0.406; default: as in training, or else 0");
  keys.add("std", state->deviation, "deviation to divide them by then; default: as in training, or else 1");
  keys.add("data_dir", state->data_dir, "folder of the data sets; only a model trained with zca needs it");
  keys.begin_group("Model");
  keys.add("input_shape", state->input_shape, kInputShapeHelp);
  keys.add("disable_pass", state->disable_pass, disable_pass_help());
  keys.add("exit_thresholds", state->exit_thresholds,
           std::string(kExitThresholdsHelp) + ", which adapt to the samples if the model was tuned for traffic");
  keys.begin_group("This process");
  keys.add("batch", state->batch, "samples per forward pass", batch_range());
  keys.add("threads", state->threads, "threads for the kernels", kThreads);
  keys.add("backend", state->backend, backend_help());
  keys.begin_group("Output");
  keys.add("labels", state->labels, "text file with one class name per line; default: the model's class names");
  command->add_option("model", state->model, "an ONNX file")->required()->type_name("");
  command
      ->add_option("--input", state->inputs,
                   "run the network on this: an .npy file (NAME=FILE.npy if it has several inputs), an image (JPEG, "
                   "PNG, PPM) or a folder of images; may be repeated")
      ->type_name("FILE")
      ->group("Input");
  command
      ->add_option("--output", state->outputs, "write an output to this .npy file (NAME=FILE.npy if there are several)")
      ->type_name("FILE")
      ->group("Output");
  add_flags(*command, keys, state->overrides);
  add_output_flags(*command, context.output);
  command->footer(
      "Examples:\n"
      "  mangrove predict runs/mine/model.onnx --input digit.png\n"
      "  mangrove predict mobilenetv2.onnx --input photos/ --mean 0.5 --std 0.5 \\\n"
      "                   --labels labels.txt --json\n"
      "  mangrove predict model.onnx --input x.npy --output y.npy --batch 32\n"
      "  mangrove predict two.onnx --input a=a.npy --input b=b.npy --output sum=y.npy");
  command->callback([&context, state] { context.action = [&context, state] { return run_predict(*state, context); }; });
}

}  // namespace mangrove::cli
