#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <tuple>

#include "mangrove/base/config_file.h"
#include "mangrove/base/json_dump.h"
#include "mangrove/base/printable.h"
#include "mangrove/base/suggestion.h"
#include "mangrove/cli/command.h"
#include "mangrove/cli/help.h"
#include "mangrove/cli/job_runner.h"
#include "mangrove/cli/reports/summary.h"
#include "mangrove/cli/run_result.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

struct RunState {
  TrainSettings train;
  EvalSettings eval;
  InferSettings infer;
  std::string file;
  Overrides overrides;

  Keys keys_of(const std::string& section) {
    return section == "train" ? train.keys() : section == "eval" ? eval.keys() : infer.keys();
  }
};

const std::vector<std::string>& known_sections() {
  static const std::vector<std::string> names = {"train", "eval", "infer"};
  return names;
}

/// Keys that mean something else in every section, or belong to `mangrove train` alone, are no flags of `run`.
bool is_run_flag(const Key& key) {
  return key.name != "strategy" && key.name != "resume";
}

/// With a `train` section, --model says what is trained; the others use what it leaves.
Overrides overrides_for(const RunState& state, const std::string& section, bool trains) {
  Overrides overrides = state.overrides;
  if (trains && section != "train") std::erase_if(overrides, [](const auto& o) { return o.first == "model"; });
  return overrides;
}

/// Settings of every section: defaults, then the file, then the flags. Checked before anything runs.
Status read_settings(RunState& state, const ConfigFile& file) {
  std::vector<Keys> all;
  std::vector<std::string> known;
  const bool trains = std::any_of(file.sections().begin(), file.sections().end(),
                                  [](const ConfigFile::Section& section) { return section.name == "train"; });
  for (const ConfigFile::Section& section : file.sections()) {
    const Keys keys = state.keys_of(section.name);
    MG_RETURN_IF_ERROR(file.apply(section, keys));
    MG_RETURN_IF_ERROR(apply_overrides(overrides_for(state, section.name, trains), keys));
    for (const std::string& name : keys.names()) known.push_back(name);
    all.push_back(keys);
  }
  MG_RETURN_IF_ERROR(file.check_common(known));
  if (!state.train.resume.empty())
    return make_error(Code::invalid_argument, state.file + ": 'resume' is for `mangrove train --resume RUN_DIR`");
  for (const auto& [name, value] : state.overrides)
    if (std::find(known.begin(), known.end(), name) == known.end())
      return make_error(Code::invalid_argument, "flag '" + name + "' fits no section of " + state.file);
  MG_RETURN_IF_ERROR(file.check_read(all));
  return check_read(state.overrides, all);
}

/// trained: the network that a section before has left; empty: there is none.
Result<json> run_section(RunState& state, const std::string& section, const std::string& trained, JobContext& job) {
  if (section == "train") {
    MG_RETURN_IF_ERROR(job.folder.begin(to_yaml("train", state.train.keys())));
    auto result = run_train(state.train, job);
    if (!result.ok()) return job.folder.with_resume_hint(result.error());
    return result;
  }
  if (section == "eval") {
    if (state.eval.model.empty()) state.eval.model = trained;
    return run_eval(state.eval, job.output, job.stop);
  }
  if (state.infer.model.empty() && state.infer.tiers.empty()) state.infer.model = trained;
  return run_infer(state.infer, job);
}

/// The results of the sections before the one that failed so.
Error keep_what_was_done(const json& results, RunFolder& folder, Error failed) {
  if (results.empty()) return failed;
  std::fputs(printable(summary_table(results), /*keep_lines=*/true).c_str(), stderr);
  std::ignore = folder.write("summary.json", dump(results, 2) + "\n");  // the failure says more
  return failed;
}

Status run_run(RunState& state, CommandContext& context) {
  MG_TRY(const ConfigFile file, ConfigFile::load(state.file, {"job file", known_sections(), "train"}));
  MG_RETURN_IF_ERROR(read_settings(state, file));
  const std::string run_dir = !state.train.run_dir.empty() ? state.train.run_dir : state.infer.run_dir;
  MG_TRY(RunFolder folder, RunFolder::create(run_dir, "run"));
  ClusterSession session(context.output.quiet);
  JobContext job{session, folder, context.output, context.stop};
  json results = json::object();
  for (const ConfigFile::Section& section : file.sections()) {
    const std::string trained = results.contains("train") ? (folder.path() / "model.onnx").string() : "";
    Result<json> ran = run_section(state, section.name, trained, job).context(section.name);
    if (!ran.ok()) return keep_what_was_done(results, folder, ran.error());
    results[section.name] = *std::move(ran);
    folder.append_metrics();
  }
  return leave_result(results, summary_table(results), folder, context);
}

}  // namespace

void add_run_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("run", "run the jobs of a YAML file one after the other on one cluster");
  auto state = std::make_shared<RunState>();
  command->add_option("file", state->file, "job file with the sections train, eval and infer, or some of them")
      ->required();
  for (const std::string& section : known_sections())
    add_flags(*command, state->keys_of(section), state->overrides, is_run_flag);
  add_output_flags(*command, context.output);
  command->formatter(std::make_shared<HelpFormatter>(std::vector<std::string>{"Model", "Strategy", "Learning"}));
  command->footer(
      "Flags set the keys of every section that has them. All keys of the sections but\n"
      "strategy and resume are flags: see `mangrove train --help`,\n"
      "`mangrove eval --help` and `mangrove infer --help`.\n"
      "Examples:\n"
      "  mangrove run examples/lenet-mnist.yaml\n"
      "  mangrove run examples/lenet-mnist.yaml --data glyphs --epochs 2 --json");
  command->callback([&context, state] { context.action = [&context, state] { return run_run(*state, context); }; });
}

}  // namespace mangrove::cli
