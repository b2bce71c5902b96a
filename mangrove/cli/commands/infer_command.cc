#include <memory>
#include <nlohmann/json.hpp>
#include <tuple>

#include "mangrove/cli/command.h"
#include "mangrove/cli/help.h"
#include "mangrove/cli/job_runner.h"
#include "mangrove/cli/reports/summary.h"
#include "mangrove/cli/run_result.h"
#include "mangrove/infer/strategy.h"

namespace mangrove::cli {
namespace {

struct InferState {
  InferSettings settings;
  Overrides overrides;
};

Status run_infer(InferState& state, CommandContext& context) {
  const Keys keys = state.settings.keys();
  MG_RETURN_IF_ERROR(apply_overrides(state.overrides, keys));
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
      "                 --coordinator 192.168.1.10:7070 --json");
  command->callback([&context, state] { context.action = [&context, state] { return run_infer(*state, context); }; });
}

}  // namespace mangrove::cli
