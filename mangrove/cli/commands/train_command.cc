#include <memory>
#include <nlohmann/json.hpp>

#include "mangrove/base/config_file.h"
#include "mangrove/cli/command.h"
#include "mangrove/cli/help.h"
#include "mangrove/cli/job_runner.h"
#include "mangrove/cli/reports/summary.h"
#include "mangrove/cli/run_result.h"
#include "mangrove/train/strategy.h"

namespace mangrove::cli {
namespace {

struct TrainState {
  TrainSettings settings;
  Overrides overrides;
};

/// The settings that the interrupted run was started with; where it ran and where it left its files are this run's
/// business.
Status load_resumed_settings(const std::string& folder, const Keys& keys) {
  const fs::path path = fs::path(folder) / "job.yaml";
  MG_TRY(ConfigFile file, ConfigFile::load(path, {"job file", {"train"}, "train"}).context("resume"));
  ConfigFile::Section section = file.sections().front();
  std::erase_if(section.settings, [](const auto& s) { return s.key == "run_dir" || s.key == "resume"; });
  return file.apply(section, keys);
}

Status run_train(TrainState& state, CommandContext& context) {
  const Keys keys = state.settings.keys();
  for (const auto& [name, value] : state.overrides)
    if (name == "resume") MG_RETURN_IF_ERROR(load_resumed_settings(value, keys));
  MG_RETURN_IF_ERROR(apply_overrides(state.overrides, keys));
  MG_RETURN_IF_ERROR(check_read(state.overrides, {keys}));
  TrainSettings& settings = state.settings;
  if (!settings.resume.empty()) settings.run_dir = settings.resume;
  MG_TRY(RunFolder folder, RunFolder::create(settings.run_dir, "train"));
  // a resumed run keeps the settings that it was started with
  if (settings.resume.empty()) MG_RETURN_IF_ERROR(folder.begin(to_yaml("train", keys)));
  ClusterSession session(context.output.quiet);
  JobContext job{session, folder, context.output, context.stop};
  auto result = run_train(settings, job);
  if (!result.ok()) return folder.with_resume_hint(result.error());
  return leave_result(*result, summary_table({{"train", *result}}), folder, context);
}

}  // namespace

void add_train_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("train", "train a network on the nodes of a cluster");
  auto state = std::make_shared<TrainState>();
  add_strategy_help(*command, {state->settings.keys()}, strategy_texts(train::strategies()));
  add_flags(*command, state->settings.keys(), state->overrides);
  add_output_flags(*command, context.output);
  command->footer(
      "Examples:\n"
      "  mangrove train --model lenet --data mnist --local 4 --epochs 1\n"
      "  mangrove train --model lenet --data glyphs --local 2 --run-dir runs/mine\n"
      "  mangrove train --resume runs/mine     # after Ctrl-C, a crash or a power cut\n"
      "  mangrove train --coordinator 192.168.1.10:7070 --data mnist --json > r.json\n"
      "  mangrove train --data mnist --local 4 --strategy federated --local-steps 16\n"
      "  mangrove train --coordinator 192.168.1.10:7070 --data mnist --balance speed\n"
      "  mangrove train --coordinator 192.168.1.10:7070 --data shards:leaves \\\n"
      "                 --data-from cluster --split shards --shuffle 'window(4096)'\n"
      "  mangrove train --model resnet-20 --data cifar10 --augment cifar --epochs 30\n"
      "  mangrove train --init-from mobilenetv2.onnx --freeze backbone \\\n"
      "                 --data folder:leaves,size=96 --epochs 10\n"
      "The run folder gets model.onnx, best.onnx (of the best validation), report.html,\n"
      "summary.json, metrics.jsonl, job.yaml and checkpoint.safetensors; a coordinator\n"
      "with certificates also signs the network (model.onnx.sig).\n"
      "docs/training.md explains optimizers, schedules and losses,\n"
      "docs/transfer-learning.md --init-from and --freeze.");
  command->callback([&context, state] { context.action = [&context, state] { return run_train(*state, context); }; });
}

}  // namespace mangrove::cli
