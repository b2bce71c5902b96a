#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "mangrove/base/file.h"
#include "mangrove/base/suggestion.h"
#include "mangrove/cli/command.h"
#include "mangrove/cli/flag_ranges.h"
#include "mangrove/cli/reports/progress.h"
#include "mangrove/cli/reports/quantize_report.h"
#include "mangrove/cli/sources/calibration_data.h"
#include "mangrove/cli/sources/model_source.h"
#include "mangrove/compress/calibration.h"
#include "mangrove/compress/quantize.h"
#include "mangrove/engine/known_backends.h"
#include "mangrove/engine/optimize.h"
#include "mangrove/graph/exits.h"
#include "mangrove/graph/onnx.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

struct QuantizeState {
  std::string model, output, input_shape;
  CalibrationSettings calibration;
  std::vector<std::string> skip;
  std::string method{compress::range_methods()[0].name};
  std::int64_t batch = 32;
  std::int64_t threads = 1;
  std::string backend;
  Keys keys;
  Overrides overrides;
};

Status check(const QuantizeState& state) {
  if (!is_model_file(state.model)) {
    return make_error(Code::invalid_argument, "model '" + state.model +
                                                  "': quantization needs trained weights; give an ONNX file, such as "
                                                  "the model.onnx of a run folder");
  }
  if (state.output.empty()) return make_error(Code::invalid_argument, "no output: give -o FILE.onnx");
  const fs::path folder = fs::path(state.output).parent_path();
  std::error_code error;
  if (!folder.empty() && !fs::is_directory(folder, error)) {
    return make_error(Code::not_found, "-o " + state.output + ": no such folder: " + folder.string());
  }
  if (fs::is_directory(state.output, error))
    return make_error(Code::invalid_argument, "-o " + state.output + ": is a folder; expected a file to write");
  if (fs::equivalent(state.model, state.output, error))
    return make_error(Code::invalid_argument, "-o " + state.output + ": is the model itself, which would be lost");
  return make_writable_folder(folder.empty() ? fs::path(".") : folder).context("-o " + state.output);
}

/// Runs the float network over the calibration samples: in passes of one, or of the model's own batch, each full, so
/// that no row counts that is no sample.
Result<std::map<std::string, compress::Histogram>> calibrate(const QuantizeState& state, const Graph& graph,
                                                             const compress::QuantizationPlan& plan,
                                                             const SampleSource& source, ProgressDisplay& display,
                                                             std::stop_token stop) {
  const std::int64_t per_pass = samples_per_pass(graph, source, 1);
  if (source.count() < per_pass) {
    return make_error(Code::invalid_argument, "the model takes " + std::to_string(per_pass) +
                                                  " samples at once, there are " + std::to_string(source.count()) +
                                                  " to calibrate with");
  }
  const CompileOptions options{.batch = per_pass, .backend = state.backend, .threads = static_cast<int>(state.threads)};
  MG_TRY(auto calibrator, compress::Calibrator::create(graph, plan.observed(), options));
  const LoopProgress progress(display, "calibrate", source.count());
  std::vector<std::int64_t> samples(static_cast<std::size_t>(per_pass));
  for (std::int64_t first = 0; first + per_pass <= source.count(); first += per_pass) {
    if (stop.stop_requested()) return make_error(Code::cancelled, "stopped");
    std::iota(samples.begin(), samples.end(), first);
    MG_TRY(const std::vector<Status> read, source.fill(calibrator.execution(), samples));
    for (const Status& status : read) MG_RETURN_IF_ERROR(status);
    MG_RETURN_IF_ERROR(calibrator.observe().context(source.name(first)));
    progress(first + per_pass);
  }
  return calibrator.histograms();
}

Result<json> compare(const QuantizeState& state, const Graph& graph, const Graph& quantized,
                     const CalibrationData& data, ProgressDisplay& display, std::stop_token stop) {
  const PredictOptions options{
      .batch = state.batch, .backend = state.backend, .threads = static_cast<int>(state.threads)};
  const SampleSource& source = *data.compared;
  MG_TRY(const Predictions reference,
         run_model(graph, source, options, LoopProgress(display, "float", source.count()), stop));
  MG_TRY(const Predictions bytes,
         run_model(quantized, source, options, LoopProgress(display, "int8", source.count()), stop));
  json comparison = compare_predictions(source, reference, bytes, answering_output(graph));
  comparison["held_back"] = data.held_back;
  return comparison;
}

Result<json> quantize(const QuantizeState& state, CommandContext& context) {
  MG_TRY(const Graph loaded, load_model(state.model, state.input_shape));
  MG_TRY(const Optimized optimized, optimize(loaded, {.mode = Mode::inference}));
  const Graph& graph = optimized.graph;
  const compress::QuantizeOptions options{.skip = {state.skip.begin(), state.skip.end()}};
  MG_TRY(const compress::QuantizationPlan plan, compress::plan_quantization(graph, options));
  MG_TRY(const compress::RangeMethod* method, compress::find_range_method(state.method).context("--method"));
  MG_TRY(const CalibrationData data, open_calibration_data(graph, state.calibration, context.stop));
  ProgressDisplay display(!context.output.quiet);
  MG_TRY(const auto histograms, calibrate(state, graph, plan, *data.calibration, display, context.stop));
  MG_TRY(const Graph quantized, compress::quantize_static(graph, plan, histograms, *method));
  MG_TRY(json comparison, compare(state, graph, quantized, data, display, context.stop));
  display.finish();
  MG_RETURN_IF_ERROR(save_onnx(quantized, state.output));
  return json{{"model", state.model},
              {"output", state.output},
              {"method", state.method},
              {"calibration_samples", data.calibration->count()},
              {"layers", layers_report(graph, plan)},
              {"bytes", {{"float", fs::file_size(state.model)}, {"quantized", fs::file_size(state.output)}}},
              {"comparison", std::move(comparison)}};
}

Status run_quantize(QuantizeState& state, CommandContext& context) {
  MG_RETURN_IF_ERROR(apply_overrides(state.overrides, state.keys));
  MG_RETURN_IF_ERROR(check(state));
  MG_TRY(const json report, quantize(state, context).context("model " + state.model));
  return print_result(report, quantize_table(report), context.output);
}

}  // namespace

void add_quantize_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("quantize", "turn a trained network into one of int8, calibrated with samples");
  auto state = std::make_shared<QuantizeState>();
  command->add_option("model", state->model, "an ONNX file")->required()->type_name("");
  command
      ->add_option("--calibrate", state->calibration.data,
                   "samples like those that the model will see: a data set as for `train --data`, or .npy files and "
                   "images as for `predict --input`; may be repeated")
      ->type_name("DATA")
      ->group("Calibration");
  command->add_option("-o,--output", state->output, "the ONNX file to write")->type_name("FILE")->group("Output");
  command
      ->add_option("--skip", state->skip,
                   "keep this node, or all nodes of this operator (such as Gemm), in float; may be repeated")
      ->type_name("NAME")
      ->group("Model");
  Keys& keys = state->keys;
  keys.begin_group("Model");
  keys.add("input_shape", state->input_shape, kInputShapeHelp);
  keys.begin_group("Calibration");
  keys.add("samples", state->calibration.samples, "number of samples to calibrate with", at_least_one(limit_range()));
  std::string methods = "how the range of each value is chosen:";
  for (const compress::RangeMethod& method : compress::range_methods()) {
    methods += std::string(&method == compress::range_methods().data() ? " " : ", ") + std::string(method.name) + " (" +
               std::string(method.summary) + ")";
  }
  keys.add("method", state->method, methods);
  keys.add("data_dir", state->calibration.data_dir,
           "folder of the data sets; default: $MANGROVE_DATA, or else ~/.cache/mangrove/data");
  keys.add("mean", state->calibration.mean, "mean to subtract from image channels, as for `mangrove predict`");
  keys.add("std", state->calibration.deviation, "deviation to divide them by, as for `mangrove predict`");
  keys.begin_group("Comparison");
  keys.add("limit", state->calibration.limit,
           "number of samples on which the networks in float and int8 are compared; 0: all that are left",
           limit_range());
  keys.add("batch", state->batch, "samples per forward pass", batch_range());
  keys.add("threads", state->threads, "threads for the kernels", kThreads);
  keys.add("backend", state->backend, backend_help());
  add_flags(*command, keys, state->overrides);
  add_output_flags(*command, context.output);
  command->footer(
      "Examples:\n"
      "  mangrove quantize runs/mine/model.onnx --calibrate mnist -o lenet-int8.onnx\n"
      "  mangrove quantize mobilenetv2.onnx --calibrate photos/ \\\n"
      "                    --mean 0.5 --std 0.5 -o mobilenetv2-int8.onnx\n"
      "  mangrove quantize model.onnx --calibrate x.npy --method entropy \\\n"
      "                    --skip fc2 -o int8.onnx --json");
  command->callback(
      [&context, state] { context.action = [&context, state] { return run_quantize(*state, context); }; });
}

}  // namespace mangrove::cli
