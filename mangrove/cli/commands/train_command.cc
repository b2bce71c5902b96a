#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "mangrove/base/config_file.h"
#include "mangrove/base/json_dump.h"
#include "mangrove/cli/command.h"
#include "mangrove/cli/job_runner.h"
#include "mangrove/cli/reports/report_page.h"
#include "mangrove/cli/reports/summary.h"

namespace mangrove::cli {
namespace {

struct State {
  TrainSettings settings;
  Overrides overrides;
};

/// The settings that the interrupted run was started with; where it ran and where it left its files are this run's
/// business.
Status load_resumed_settings(const std::string& folder, const Overrides& overrides, const Keys& keys) {
  const fs::path path = fs::path(folder) / "job.yaml";
  MG_TRY(SectionFile file, SectionFile::load(path, {"job file", {"train"}, "train"}).context("resume"));
  SectionFile::Section section = file.sections().front();
  std::erase_if(section.settings, [](const auto& s) { return s.key == "run_dir" || s.key == "resume"; });
  // a cluster on the command line takes the place of the one that it ran on
  const auto names_cluster = [](const std::string& key) {
    return key == "local" || key == "coordinator" || key == "testbed";
  };
  if (std::any_of(overrides.begin(), overrides.end(), [&](const auto& o) { return names_cluster(o.first); }))
    std::erase_if(section.settings, [&](const auto& s) { return names_cluster(s.key); });
  return file.apply(section, keys);
}

Status run(State& state, CommandContext& context) {
  const Keys keys = state.settings.keys();
  for (const auto& [name, value] : state.overrides)
    if (name == "resume") MG_RETURN_IF_ERROR(load_resumed_settings(value, state.overrides, keys));
  MG_RETURN_IF_ERROR(apply_overrides(state.overrides, keys));
  TrainSettings& settings = state.settings;
  if (!settings.resume.empty()) settings.run_dir = settings.resume;
  MG_TRY(RunFolder folder, RunFolder::create(settings.run_dir, "train"));
  // a resumed run keeps the settings that it was started with
  if (settings.resume.empty()) MG_RETURN_IF_ERROR(folder.begin(to_yaml("train", keys)));
  ClusterSession session(context.output.quiet);
  JobContext job{session, folder, context.output, context.stop};
  auto result = run_train(settings, job);
  if (!result.ok()) return folder.with_resume_hint(result.error());
  const std::string summary = summary_table({{"train", *result}});
  MG_RETURN_IF_ERROR(folder.write("summary.json", dump(*result, 2) + "\n"));
  MG_RETURN_IF_ERROR(write_report(folder));
  return print_result(*result, summary + "run folder: " + folder.path().string() + "\n", context.output);
}

}  // namespace

void add_train_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("train", "train a network on the nodes of a cluster");
  auto state = std::make_shared<State>();
  add_flags(*command, state->settings.keys(), state->overrides);
  add_output_flags(*command, context.output);
  command->footer(
      "Examples:\n"
      "  mangrove train --model lenet --data mnist --local 4 --epochs 1\n"
      "  mangrove train --model lenet --data glyphs --local 2 --epochs 2 --learning-rate 0.05 --run-dir runs/mine\n"
      "  mangrove train --resume runs/mine            # after Ctrl-C, a crash or a power cut\n"
      "  mangrove train --coordinator 192.168.1.10:7070 --data mnist --json > result.json\n"
      "  mangrove train --data mnist --local 4 --strategy federated --local-steps 16   # boards on slow links\n"
      "  mangrove train --coordinator 192.168.1.10:7070 --data mnist --balance speed   # boards of different speed\n"
      "  mangrove train --coordinator 192.168.1.10:7070 --data shards:leaves --data-from cluster --split shards "
      "--shuffle 'window(4096)'\n"
      "  mangrove train --model resnet-20 --data cifar10 --augment cifar --optimizer nesterov --epochs 30\n"
      "  mangrove train --init-from mobilenetv2.onnx --freeze backbone --data folder:leaves,size=96 --epochs 10\n"
      "The run folder gets model.onnx, best.onnx (of the best validation), report.html, summary.json, metrics.jsonl,\n"
      "job.yaml and checkpoint.safetensors. docs/training.md explains optimizers, schedules and losses,\n"
      "docs/transfer-learning.md how a network is taken further.");
  command->callback([&context, state] { context.action = [&context, state] { return run(*state, context); }; });
}

}  // namespace mangrove::cli
