#include <memory>
#include <nlohmann/json.hpp>

#include "mangrove/cli/command.h"
#include "mangrove/cli/job_runner.h"
#include "mangrove/cli/reports/summary.h"
#include "mangrove/cli/run_result.h"

namespace mangrove::cli {
namespace {

struct State {
  InferSettings settings;
  Overrides overrides;
};

Status run(State& state, CommandContext& context) {
  MG_RETURN_IF_ERROR(apply_overrides(state.overrides, state.settings.keys()));
  MG_TRY(RunFolder folder, RunFolder::create(state.settings.run_dir, "infer"));
  ClusterSession session(context.output.quiet);
  JobContext job{session, folder, context.output, context.stop};
  MG_TRY(const nlohmann::json result, run_infer(state.settings, job));
  return leave_result(result, summary_table({{"infer", result}}), folder, context);
}

}  // namespace

void add_infer_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("infer", "classify a data set or images on a cluster");
  auto state = std::make_shared<State>();
  add_flags(*command, state->settings.keys(), state->overrides);
  add_output_flags(*command, context.output);
  command->footer(
      "Examples:\n"
      "  mangrove infer --model runs/mine/model.onnx --data mnist --local 3            # as many stages as are worth "
      "it\n"
      "  mangrove infer --model model.onnx --data mnist --cuts pool1,fc1 --local 3     # cut before these operators\n"
      "  mangrove infer --strategy single --model model.onnx --data mnist --local 3    # the fastest node alone\n"
      "  mangrove infer --strategy ensemble --models healthy.onnx,spots.onnx --data leaves --local 2\n"
      "  mangrove infer --tiers examples/tiers.yaml --data glyphs --scheduler end-edge --policy monitor\n"
      "  mangrove infer --strategy views --model ddnn.onnx --data mnist --local 7      # six views, and a node above "
      "them\n"
      "  mangrove infer --model model.onnx --data mnist --stages 3 --local 4   # one node in reserve\n"
      "  mangrove infer --model model.onnx --input photos/ --local 3           # a line for each image\n"
      "  camera | mangrove infer --model model.onnx --input - --deadline 200ms --coordinator 192.168.1.10:7070 --json\n"
      "  mangrove infer --model model.onnx --data mnist --stages 3 --coordinator 192.168.1.10:7070 --json");
  command->callback([&context, state] { context.action = [&context, state] { return run(*state, context); }; });
}

}  // namespace mangrove::cli
