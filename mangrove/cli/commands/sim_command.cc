#include <algorithm>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "mangrove/base/config_file.h"
#include "mangrove/cli/command.h"
#include "mangrove/cli/help.h"
#include "mangrove/cli/job_runner.h"
#include "mangrove/cli/reports/summary.h"
#include "mangrove/cli/run_result.h"
#include "mangrove/data/dataset.h"
#include "mangrove/sim/simulation.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

struct State {
  TrainSettings train;
  EvalSettings eval;
  InferSettings infer;
  std::string world_file, job_file, fault_file;
  std::optional<std::uint64_t> fault_seed;
  std::string compute = "real";
  Seconds fault_window = 60, time_limit = 0;
  Overrides overrides, sim_overrides;

  Keys sim_keys() {
    Keys keys;
    keys.begin_group("Simulation");
    keys.add("compute", compute,
             "real, or modelled (only time is simulated and nothing is learnt, for up to 10,000 devices)");
    keys.add_seconds("fault_window", fault_window, "faults of --fault-seed begin within this much virtual time");
    keys.add_seconds("time_limit", time_limit, "give up after this much virtual time; 0: never");
    return keys;
  }
};

/// Keys that say on which cluster a job runs mean nothing here.
bool is_flag(const Key& key) {
  TrainSettings settings;
  Keys cluster;
  settings.cluster.declare(cluster);
  return cluster.find(key.name) == nullptr && key.name != "resume";
}

/// The job file's train section; the others are not simulated.
Status read_job(State& state) {
  MG_TRY(const SectionFile file, SectionFile::load(state.job_file, {"job file", {"train", "eval", "infer"}, "train"}));
  std::vector<std::string> known;
  for (const Keys& keys : {state.train.keys(), state.eval.keys(), state.infer.keys()})
    for (const std::string& name : keys.names()) known.push_back(name);
  MG_RETURN_IF_ERROR(file.check_common(known));
  const auto& sections = file.sections();
  const auto train = std::find_if(sections.begin(), sections.end(), [](const auto& s) { return s.name == "train"; });
  if (train == sections.end())
    return make_error(Code::invalid_argument, state.job_file + ": no section 'train': training is what is simulated");
  MG_RETURN_IF_ERROR(file.apply(*train, state.train.keys()));
  state.train.cluster = {};
  if (!state.train.resume.empty())
    return make_error(Code::invalid_argument, state.job_file + ": key 'resume': a simulated run cannot go on");
  MG_RETURN_IF_ERROR(apply_overrides(state.overrides, state.train.keys()));
  if (state.train.freeze != "none")
    return make_error(Code::invalid_argument,
                      "freeze: the time that a frozen part takes is not simulated: leave it out");
  return {};
}

Result<std::vector<sim::Fault>> faults_of(const State& state, const sim::World& world) {
  std::vector<sim::Fault> faults;
  const auto add = [&](const std::vector<sim::Fault>& more) { faults.insert(faults.end(), more.begin(), more.end()); };
  if (!state.fault_file.empty()) {
    MG_TRY(const std::vector<sim::Fault> given, sim::load_faults(state.fault_file, world));
    add(given);
  }
  if (state.fault_seed) add(sim::draw_faults(world, *state.fault_seed, state.fault_window));
  return faults;
}

Status run(State& state, CommandContext& context) {
  MG_TRY(const sim::World world, sim::load_world(state.world_file));
  MG_RETURN_IF_ERROR(read_job(state));
  MG_RETURN_IF_ERROR(apply_overrides(state.sim_overrides, state.sim_keys()));
  if (state.compute != "real" && state.compute != "modelled")
    return make_error(Code::invalid_argument, "compute: must be real or modelled, got '" + state.compute + "'");
  const bool is_modelled = state.compute == "modelled";
  const std::uint64_t seed = state.train.job.seed();
  MG_TRY(const std::vector<sim::Fault> faults, faults_of(state, world));
  MG_TRY(RunFolder folder, RunFolder::create(state.train.run_dir, "sim"));
  MG_RETURN_IF_ERROR(folder.begin(to_yaml("train", state.train.keys())));
  const fs::path events_path = folder.path() / "events.jsonl";
  std::ofstream events(events_path, std::ios::trunc);
  if (!events) return make_error(Code::permission_denied, events_path.string() + ": cannot write");
  const auto simulate = [&](const cluster::JobSpec& job, const Reporter& report) {
    return sim::simulate(job, world,
                         {.faults = faults,
                          .seed = seed,
                          .data_folder = data::data_folder(state.train.data.data_dir),
                          .limit = state.time_limit,
                          .stop = context.stop,
                          .report = report,
                          .log = [&](std::string_view line) { events << line << '\n'; },
                          .is_modelled = is_modelled});
  };
  ClusterSession no_cluster(context.output.quiet);
  JobContext job{no_cluster, folder, context.output, context.stop};
  MG_TRY(json result, run_train(state.train, job, simulate));
  events.flush();
  const Status told = events ? Status() : make_error(Code::resource_exhausted, events_path.string() + ": cannot write");
  std::ignore = folder.noted(events_path.filename().string(), told);
  if (is_modelled) result.erase("model_file");
  result["world"] = state.world_file;
  result["devices"] = world.devices.size() - 1;
  result["events_file"] = events_path.string();
  const std::string learnt = is_modelled ? ", and nothing was learnt" : "";
  const std::string summary = "Simulated: times are virtual" + learnt + "\n" + summary_table({{"train", result}});
  return leave_result(result, summary, folder, context);
}

}  // namespace

void add_sim_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("sim", "train on the devices of a virtual world, in virtual time");
  auto state = std::make_shared<State>();
  command->add_option("world", state->world_file, "world file: devices, regions, links")->required();
  command->add_option("job", state->job_file, "job file with a section train")->required();
  command->add_option("--faults", state->fault_file, "fault file: crashes, freezes, partitions, slow links");
  command->add_option("--fault-seed", state->fault_seed, "draw one to four faults from this seed");
  add_flags(*command, state->sim_keys(), state->sim_overrides);
  add_flags(*command, state->train.keys(), state->overrides, is_flag);
  add_output_flags(*command, context.output);
  command->formatter(
      std::make_shared<HelpFormatter>(std::vector<std::string>{"Model", "Data", "Cluster", "Strategy", "Learning"}));
  command->footer(
      "The keys of `mangrove train` are flags too, but those that say where it runs:\n"
      "see `mangrove train --help`.\n"
      "Examples:\n"
      "  mangrove sim examples/worlds/boards.yaml examples/worlds/job.yaml\n"
      "  mangrove sim examples/worlds/boards.yaml examples/worlds/job.yaml \\\n"
      "               --strategy all_reduce --seed 7 --json\n"
      "  mangrove sim examples/worlds/boards.yaml examples/worlds/job.yaml \\\n"
      "               --faults examples/worlds/faults.yaml\n"
      "  mangrove sim examples/worlds/boards.yaml examples/worlds/job.yaml \\\n"
      "               --fault-seed 3 --fault-window 5s\n"
      "  mangrove sim examples/worlds/global.yaml examples/worlds/global-job.yaml \\\n"
      "               --compute modelled\n"
      "The same files and seed give the same run, bit for bit. The run folder gets what\n"
      "`mangrove train` leaves there, and events.jsonl. docs/simulation.md explains\n"
      "world and fault files.");
  command->callback([&context, state] { context.action = [&context, state] { return run(*state, context); }; });
}

}  // namespace mangrove::cli
