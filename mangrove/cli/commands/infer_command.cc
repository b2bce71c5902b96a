#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>

#include "mangrove/cli/command.h"
#include "mangrove/cli/help.h"
#include "mangrove/cli/job_runner.h"
#include "mangrove/cli/reports/summary.h"
#include "mangrove/cli/run_result.h"
#include "mangrove/cli/server_access.h"
#include "mangrove/cli/server_inference.h"
#include "mangrove/infer/strategy.h"
#include "mangrove/job/json_fields.h"

namespace mangrove::cli {
namespace {

struct InferState {
  InferSettings settings;
  Overrides overrides;
  ServerFlags server;
  std::string model_name;
  Overrides server_overrides;

  Keys server_keys() {
    Keys keys;
    server.declare(keys);
    keys.add("model_name", model_name, "with --url: name of the model on the server; default: its only one");
    return keys;
  }
};

/// Flags about networks and clusters would be ignored. errors: invalid_argument (names the flag).
Status check_for_server(const Overrides& overrides) {
  static constexpr std::array kRead = {"data",     "data_fallback", "data_dir",    "limit",
                                       "identity", "insecure",      "micro_batch", "window"};
  for (const auto& [name, value] : overrides) {
    Key key;
    key.name = name;
    if (std::ranges::find(kRead, name) == kRead.end())
      return make_error(Code::invalid_argument, key.flag() + " has no meaning with --url: a server has its own model");
  }
  return {};
}

Status run_infer_on_server(InferState& state, CommandContext& context) {
  MG_RETURN_IF_ERROR(check_for_server(state.overrides));
  MG_TRY(const ServerInferenceReport report,
         infer_on_server(state.settings, state.server, state.model_name, context.output, context.stop));
  context.failed = report.lost > 0;
  return print_result(job::json_of(report), report.text(), context.output);
}

Status run_infer(InferState& state, CommandContext& context) {
  MG_RETURN_IF_ERROR(apply_overrides(state.server_overrides, state.server_keys()));
  const Keys keys = state.settings.keys();
  MG_RETURN_IF_ERROR(apply_overrides(state.overrides, keys));
  if (!state.server.url.empty()) return run_infer_on_server(state, context);
  if (!state.server_overrides.empty())
    return make_error(Code::invalid_argument, "give --url HOST:PORT of the server that the other flags are about");
  MG_RETURN_IF_ERROR(check_read(state.overrides, {keys}));
  MG_TRY(RunFolder folder, RunFolder::create(state.settings.run_dir, "infer"));
  std::ignore = folder.keep_settings(to_yaml("infer", state.settings.keys()));  // the result says what is missing
  ClusterSession session(context.output.quiet);
  JobContext job{session, folder, context.output, context.stop};
  MG_TRY(const nlohmann::json result, run_infer(state.settings, job));
  return leave_result(result, summary_table({{"infer", result}}), folder, context);
}

}  // namespace

void add_infer_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("infer", "classify a data set or images on a cluster");
  auto state = std::make_shared<InferState>();
  add_strategy_help(*command, {state->settings.keys()}, strategy_texts(infer::strategies()));
  add_flags(*command, state->settings.keys(), state->overrides);
  add_flags(*command, state->server_keys(), state->server_overrides);
  add_output_flags(*command, context.output);
  command->footer(
      "Examples:\n"
      "  mangrove infer --model runs/mine/model.onnx --data mnist --local 3\n"
      "  mangrove infer --model model.onnx --data mnist --stages 3 --local 4  # 1 spare\n"
      "  mangrove infer --model model.onnx --data mnist --cuts pool1,fc1 --local 3\n"
      "  mangrove infer --model model.onnx --data mnist --strategy single --local 3\n"
      "  mangrove infer --strategy ensemble --models healthy.onnx,spots.onnx \\\n"
      "                 --data leaves --local 2\n"
      "  mangrove infer --tiers examples/tiers.yaml --data glyphs --policy monitor\n"
      "  mangrove infer --model model.onnx --data mnist --strategy tiles \\\n"
      "                 --micro-batch 1 --local 4\n"
      "  mangrove infer --strategy views --model ddnn.onnx --data mnist --local 7\n"
      "  mangrove infer --model model.onnx --input photos/ --local 3\n"
      "  camera | mangrove infer --model model.onnx --input - --deadline 200ms \\\n"
      "                 --coordinator 192.168.1.10:7070 --json\n"
      "  mangrove infer --url http://127.0.0.1:8000 --model-name digits --data glyphs");
  command->callback([&context, state] { context.action = [&context, state] { return run_infer(*state, context); }; });
}

}  // namespace mangrove::cli
