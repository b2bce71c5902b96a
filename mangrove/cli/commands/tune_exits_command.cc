#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>

#include "mangrove/base/call_syntax.h"
#include "mangrove/base/file.h"
#include "mangrove/base/format.h"
#include "mangrove/cli/command.h"
#include "mangrove/cli/flag_ranges.h"
#include "mangrove/cli/reports/exits_report.h"
#include "mangrove/cli/reports/progress.h"
#include "mangrove/cli/sources/data_source.h"
#include "mangrove/cli/sources/model_source.h"
#include "mangrove/cli/sources/rewriting.h"
#include "mangrove/data/dataset.h"
#include "mangrove/engine/known_backends.h"
#include "mangrove/exits/evaluation.h"
#include "mangrove/exits/tuning.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/job/json_fields.h"
#include "mangrove/learn/preparation.h"

namespace mangrove::cli {
namespace {

using exits::ExitTarget;
using nlohmann::json;

struct TuneExitsState {
  std::string model, output, data, data_dir;
  std::string target = "accuracy(0.003)";
  std::int64_t batch = 1, threads = 1;
  std::string backend, input_shape;
  Keys keys;
  Overrides overrides;
};

/// "accuracy(0.003)", "latency(200us)", "traffic(100B)" or "traffic(100B,2)". errors: invalid_argument.
Result<exits::ExitTarget> parse_target(const std::string& text) {
  const auto wrong = [&] {
    return make_error(Code::invalid_argument,
                      "target: expected accuracy(SHARE), latency(SECONDS), traffic(BYTES) or traffic(BYTES,EXIT), such "
                      "as accuracy(0.003), latency(200us) or traffic(100,1); got '" +
                          text + "'");
  };
  if (const auto loss = argument_of(text, "accuracy")) {
    exits::ExitTarget target{.kind = exits::ExitTarget::Kind::accuracy};
    const auto [end, error] = std::from_chars(loss->begin(), loss->end(), target.value);
    if (error != std::errc() || end != loss->end() || !(target.value >= 0 && target.value < 1)) return wrong();
    return target;
  }
  if (const auto time = argument_of(text, "latency")) {
    const Result<Seconds> seconds = parse_seconds(*time);
    if (!seconds.ok() || !(*seconds > 0)) return wrong();
    return exits::ExitTarget{.kind = exits::ExitTarget::Kind::latency, .value = *seconds};
  }
  const auto traffic = argument_of(text, "traffic");
  if (!traffic) return wrong();
  const std::size_t comma = std::min(traffic->find(','), traffic->size());
  const Result<Bytes> bytes = parse_bytes(traffic->substr(0, comma));
  std::int64_t exit = 1;
  if (comma < traffic->size()) {
    const auto [end, error] = std::from_chars(traffic->begin() + comma + 1, traffic->end(), exit);
    if (error != std::errc() || end != traffic->end() || exit < 1) return wrong();
  }
  if (!bytes.ok()) return wrong();
  return exits::ExitTarget{.kind = exits::ExitTarget::Kind::traffic,
                           .value = static_cast<double>(*bytes),
                           .exit = static_cast<std::size_t>(exit - 1)};
}

json forecast_report(const exits::ExitForecast& forecast) {
  json report = {{"accuracy", forecast.accuracy}, {"seconds_per_sample", forecast.seconds}, {"exits", json::array()}};
  for (std::size_t i = 0; i < forecast.exits.size(); ++i)
    report["exits"].push_back({{"share", forecast.exits[i].share},
                               {"accuracy", forecast.exits[i].accuracy},
                               {"passed_bytes_per_sample", forecast.passed[i]}});
  return report;
}

/// Of the samples that leave at each exit but the last.
std::string shares_text(const exits::ExitForecast& forecast) {
  std::string text;
  for (std::size_t i = 0; i + 1 < forecast.exits.size(); ++i)
    text += fmt::format("{}{:.5g}", i == 0 ? "" : ",", forecast.exits[i].share);
  return text;
}

json segments_report(const exits::ExitRecords& records) {
  json segments = json::array();
  for (std::size_t i = 0; i < records.exits; ++i) {
    json seconds = json::array();
    for (const auto& [samples, took] : records.seconds[i]) seconds.push_back({{"samples", samples}, {"seconds", took}});
    segments.push_back({{"runs", std::move(seconds)}, {"passed_bytes", records.passed[i]}});
  }
  return segments;
}

std::string tuned_table(const json& report, const ExitsReport& exits) {
  const json& expected = report["forecast"];
  std::string text = fmt::format("Early exits of {}, tuned on {} of {} to {}\n", report["model"].get<std::string>(),
                                 format_things(report["samples"].get<std::int64_t>(), "validation sample"),
                                 report["data"].get<std::string>(), report["target"].get<std::string>());
  text += exit_rows(exits);
  text += fmt::format("  {:<26} {} for a sample\n", "forecast",
                      format_seconds(expected["seconds_per_sample"].get<double>()));
  text += fmt::format("  {:<26} {}\n", "accuracy with exits", format_percent(report["accuracy"].get<double>()));
  std::string passed;
  for (const json& exit : expected["exits"])
    passed +=
        (passed.empty() ? "" : " / ") + format_bytes(static_cast<Bytes>(exit["passed_bytes_per_sample"].get<double>()));
  text += fmt::format("  {:<26} {}\n", "passed on behind exits", passed + " for a sample");
  return text + fmt::format("exit thresholds {} written to {}{}\n", report["thresholds_text"].get<std::string>(),
                            report["output"].get<std::string>(),
                            report["keeps_shares"].get<bool>() ? "; `predict` keeps the share at each exit" : "");
}

/// A search does not tell how far it is.
Result<std::vector<float>> search(const exits::ExitRecords& records, const exits::ExitTarget& target,
                                  const OutputOptions& output, std::stop_token stop) {
  const WaitDisplay waiting(shows_progress(output), "tune", 0);
  return exits::tune_exits(records, target, std::move(stop));
}

Result<json> tune(const TuneExitsState& state, const OutputOptions& shown, std::stop_token stop) {
  MG_TRY(const exits::ExitTarget target, parse_target(state.target));
  const std::string output = state.output.empty() ? state.model : state.output;
  const fs::path to = fs::path(output).parent_path();
  MG_RETURN_IF_ERROR(make_writable_folder(to.empty() ? fs::path(".") : to).context("-o " + output));
  MG_TRY(const Graph loaded, load_model(state.model, state.input_shape));
  MG_TRY(const Graph graph, rewritten_for_inference(loaded, {}));
  if (!has_early_exits(graph))
    return make_error(Code::invalid_argument, "it has no early exits: one output, or outputs that are not alike");
  MG_TRY(const std::string name, data_for(graph, state.data, state.data_dir, stop));
  const fs::path folder = data::data_folder(state.data_dir);
  MG_TRY(const auto dataset, data::open_dataset(name, data::Split::validation, folder));
  MG_TRY(const auto augmentation, learn::preparation_of(graph, folder));
  const CompiledStageOptions options{
      .micro_batch = state.batch, .backend = state.backend, .threads = static_cast<int>(state.threads)};
  const SteadyClock clock;
  ProgressDisplay display(shows_progress(shown));
  MG_TRY(const exits::ExitRecords records, exits::record_exits(graph, options, dataset, augmentation, clock, stop,
                                                               LoopProgress(display, "record", dataset->size())));
  display.finish();
  MG_TRY(const std::vector<float> thresholds, search(records, target, shown, stop));
  MG_TRY(const exits::ExitEvaluation evaluation,
         exits::evaluate_exits(graph, thresholds, options, dataset, augmentation, clock, stop,
                               LoopProgress(display, "evaluate", dataset->size())));
  display.finish();
  const exits::ExitForecast expected = exits::forecast(records, thresholds);
  GraphParts parts = loaded.parts();
  parts.metadata[kExitThresholdsKey] = exits::exit_numbers_text(thresholds);
  parts.metadata.erase(kExitSharesKey);
  // nobody knows how accurate it is on inputs without labels; time and traffic follow from the shares
  if (target.kind != exits::ExitTarget::Kind::accuracy) parts.metadata[kExitSharesKey] = shares_text(expected);
  MG_TRY(const Graph tuned, Graph::create(std::move(parts)));
  MG_RETURN_IF_ERROR(save_onnx(tuned, output));
  json report = {{"model", state.model},
                 {"output", output},
                 {"data", name},
                 {"samples", records.samples()},
                 {"batch", state.batch},
                 {"target", state.target},
                 {"thresholds", thresholds},
                 {"thresholds_text", exits::exit_numbers_text(thresholds)},
                 {"keeps_shares", tuned.metadata().contains(kExitSharesKey)},
                 {"accuracy", evaluation.confusion.accuracy()},
                 {"forecast", forecast_report(expected)},
                 {"segments", segments_report(records)}};
  report.update(json(job::json_of(exits_report(graph, thresholds, evaluation))));
  return report;
}

Status run_tune_exits(TuneExitsState& state, CommandContext& context) {
  MG_RETURN_IF_ERROR(apply_overrides(state.overrides, state.keys));
  MG_TRY(const json report, tune(state, context.output, context.stop).context("model " + state.model));
  MG_TRY(const auto exits, job::read_json<ExitsReport>(report));
  return print_result(report, tuned_table(report, exits), context.output);
}

}  // namespace

void add_tune_exits_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("tune-exits", "choose the confidence thresholds of a network with early exits");
  auto state = std::make_shared<TuneExitsState>();
  command->add_option("model", state->model, "ONNX file of a network with early exits")->required()->type_name("");
  command->add_option("-o,--output", state->output, "the ONNX file to write; default: the model itself")
      ->type_name("FILE")
      ->group("Output");
  Keys& keys = state->keys;
  keys.begin_group("Thresholds");
  keys.add("target", state->target,
           "what to choose them for: accuracy(SHARE) is the fastest network whose accuracy is at most SHARE below that "
           "of the last exit; latency(TIME) the most accurate one within TIME per sample; traffic(BYTES,EXIT) the most "
           "accurate one that passes on at most BYTES per sample behind EXIT, counted from 1");
  keys.begin_group("Data");
  keys.add("data", state->data,
           "data set on whose validation split to tune, e.g. 'mnist,validation=0.1'; default: what the model was "
           "trained on");
  keys.add("data_dir", state->data_dir,
           "folder of the data sets; default: $MANGROVE_DATA, or else ~/.cache/mangrove/data");
  keys.begin_group("This process");
  keys.add("batch", state->batch, "samples per forward pass", batch_range());
  keys.add("threads", state->threads, "threads for the kernels", kThreads);
  keys.add("backend", state->backend, backend_help());
  keys.begin_group("Model");
  keys.add("input_shape", state->input_shape, kInputShapeHelp);
  add_flags(*command, keys, state->overrides);
  add_output_flags(*command, context.output);
  command->footer(
      "Examples:\n"
      "  mangrove tune-exits runs/mine/model.onnx --target 'accuracy(0.003)'\n"
      "  mangrove tune-exits model.onnx --data mnist,validation=0.1 \\\n"
      "                      --target 'latency(20us)' -o fast.onnx\n"
      "  mangrove tune-exits model.onnx --target 'traffic(100,1)' --json\n"
      "`mangrove eval` and `mangrove predict` then use the thresholds in the file.\n"
      "docs/early-exits.md explains them.");
  command->callback(
      [&context, state] { context.action = [&context, state] { return run_tune_exits(*state, context); }; });
}

}  // namespace mangrove::cli
