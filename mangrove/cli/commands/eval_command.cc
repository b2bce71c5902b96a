#include <memory>
#include <nlohmann/json.hpp>

#include "mangrove/cli/command.h"
#include "mangrove/cli/job_runner.h"
#include "mangrove/cli/reports/summary.h"

namespace mangrove::cli {
namespace {

struct EvalState {
  EvalSettings settings;
  Overrides overrides;
};

Status run_eval(EvalState& state, CommandContext& context) {
  MG_RETURN_IF_ERROR(apply_overrides(state.overrides, state.settings.keys()));
  MG_TRY(const nlohmann::json result, run_eval(state.settings, context.output, context.stop));
  return print_result(result, summary_table({{"eval", result}}), context.output);
}

}  // namespace

void add_eval_command(CLI::App& app, CommandContext& context) {
  auto* command =
      app.add_subcommand("eval", "measure accuracy, macro F1 and confusion matrix of a network, in this process");
  auto state = std::make_shared<EvalState>();
  add_flags(*command, state->settings.keys(), state->overrides);
  add_output_flags(*command, context.output);
  command->footer(
      "Examples:\n"
      "  mangrove eval --model runs/mine/model.onnx --data mnist\n"
      "  mangrove eval --model model.onnx --data glyphs --backend portable --json\n"
      "  mangrove eval --model branchy.onnx --data mnist --exit-thresholds 0.05");
  command->callback([&context, state] { context.action = [&context, state] { return run_eval(*state, context); }; });
}

}  // namespace mangrove::cli
