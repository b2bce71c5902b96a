#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "mangrove/base/config_file.h"
#include "mangrove/cli/command.h"
#include "mangrove/cli/help.h"
#include "mangrove/cli/job_runner.h"
#include "mangrove/cli/reports/run_facts.h"
#include "mangrove/cli/reports/summary.h"
#include "mangrove/cli/run_result.h"
#include "mangrove/data/dataset.h"
#include "mangrove/infer/strategy.h"
#include "mangrove/sim/simulation.h"
#include "mangrove/train/strategy.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

struct SimState {
  TrainSettings train;
  EvalSettings eval;
  InferSettings infer;
  std::string world_file, job_file, fault_file;
  std::optional<std::uint64_t> fault_seed;
  bool is_inference = false;
  std::string compute = "real";
  Seconds fault_window = 60, time_limit = 0;
  Overrides overrides, sim_overrides;

  Keys sim_keys() {
    Keys keys;
    keys.begin_group("Simulation");
    keys.add("compute", compute,
             "real, or modelled (only time is simulated: nothing is learnt or answered; up to 10,000 devices)");
    keys.add_seconds("fault_window", fault_window, "faults of --fault-seed begin within this much virtual time");
    keys.add_seconds("time_limit", time_limit, "give up after this much virtual time; 0: never");
    return keys;
  }
  Keys keys_of(const std::string& name) {
    return name == "train" ? train.keys() : name == "eval" ? eval.keys() : infer.keys();
  }
  const char* section() const { return is_inference ? "infer" : "train"; }
  Keys job_keys() { return keys_of(section()); }
  const DataSettings& data() const { return is_inference ? infer.data : train.data; }
  const std::string& run_dir() const { return is_inference ? infer.run_dir : train.run_dir; }
};

/// Keys that say on which cluster a job runs mean nothing here, nor do those of what cannot be simulated.
bool is_sim_flag(const Key& key) {
  TrainSettings settings;
  Keys cluster;
  settings.cluster.declare(cluster);
  return cluster.find(key.name) == nullptr && key.name != "resume" && key.name != "input";
}

/// A flag that is a key of the other kind of job would be ignored. The seed is the world's too.
Status check_flags(SimState& state) {
  const Keys keys = state.job_keys(), others = state.is_inference ? state.train.keys() : state.infer.keys();
  for (const auto& [name, value] : state.overrides)
    if (keys.find(name) == nullptr && name != "seed")
      return make_error(Code::invalid_argument, others.find(name)->flag() + ": is no key of the section '" +
                                                    state.section() + "', which is simulated");
  return {};
}

Status check_simulated(const SimState& state) {
  if (!state.infer.input.empty())
    return make_error(Code::invalid_argument, "input: nobody pushes images in a simulated world: give data");
  if (!state.train.resume.empty())
    return make_error(Code::invalid_argument, state.job_file + ": key 'resume': a simulated run cannot go on");
  if (state.train.freeze != "none")
    return make_error(Code::invalid_argument,
                      "freeze: the time that a frozen part takes is not simulated: leave it out");
  return {};
}

/// Keys and flags that would be ignored; of the sections that are not simulated too.
Status check_all_read(SimState& state, const ConfigFile& file) {
  SimState others;
  std::vector<Keys> all;
  for (const ConfigFile::Section& section : file.sections()) {
    const bool is_simulated = section.name == state.section();
    all.push_back(is_simulated ? state.job_keys() : others.keys_of(section.name));
    if (!is_simulated) MG_RETURN_IF_ERROR(file.apply(section, all.back()));
  }
  MG_RETURN_IF_ERROR(file.check_read(all));
  return check_read(state.overrides, {state.job_keys()});
}

/// The job file's section train, or infer where there is no section train.
Status read_job(SimState& state) {
  MG_TRY(const ConfigFile file, ConfigFile::load(state.job_file, {"job file", {"train", "eval", "infer"}, "train"}));
  std::vector<std::string> known;
  for (const Keys& keys : {state.train.keys(), state.eval.keys(), state.infer.keys()})
    for (const std::string& name : keys.names()) known.push_back(name);
  MG_RETURN_IF_ERROR(file.check_common(known));
  const auto find = [&](const std::string& name) {
    return std::ranges::find(file.sections(), name, &ConfigFile::Section::name);
  };
  state.is_inference = find("train") == file.sections().end();
  const auto section = find(state.section());
  if (section == file.sections().end())
    return make_error(Code::invalid_argument, state.job_file + ": no section 'train' or 'infer' to be simulated");
  MG_RETURN_IF_ERROR(check_flags(state));
  MG_RETURN_IF_ERROR(file.apply(*section, state.job_keys()));
  state.train.cluster = state.infer.cluster = {};
  MG_RETURN_IF_ERROR(apply_overrides(state.overrides, state.job_keys()));
  Overrides seed = state.overrides;  // which is the world's too
  std::erase_if(seed, [](const auto& flag) { return flag.first != "seed"; });
  MG_RETURN_IF_ERROR(apply_overrides(seed, state.train.keys()));
  MG_RETURN_IF_ERROR(check_all_read(state, file));
  return check_simulated(state);
}

Result<std::vector<sim::Fault>> faults_of(const SimState& state, const sim::World& world) {
  std::vector<sim::Fault> faults;
  const auto add = [&](const std::vector<sim::Fault>& more) { faults.insert(faults.end(), more.begin(), more.end()); };
  if (!state.fault_file.empty()) {
    MG_TRY(const std::vector<sim::Fault> given, sim::load_faults(state.fault_file, world));
    add(given);
  }
  if (state.fault_seed) add(sim::draw_faults(world, *state.fault_seed, state.fault_window));
  return faults;
}

Status run_sim(SimState& state, CommandContext& context) {
  MG_TRY(const sim::World world, sim::load_world(state.world_file));
  MG_RETURN_IF_ERROR(read_job(state));
  MG_RETURN_IF_ERROR(apply_overrides(state.sim_overrides, state.sim_keys()));
  if (state.compute != "real" && state.compute != "modelled")
    return make_error(Code::invalid_argument, "compute: must be real or modelled, got '" + state.compute + "'");
  const bool is_modelled = state.compute == "modelled";
  const std::uint64_t seed = state.train.job.seed();
  MG_TRY(const std::vector<sim::Fault> faults, faults_of(state, world));
  MG_TRY(RunFolder folder, RunFolder::create(state.run_dir(), "sim"));
  MG_RETURN_IF_ERROR(folder.begin(to_yaml(state.section(), state.job_keys())));
  MG_TRY(const std::string world_text, read_file(state.world_file));
  std::ignore = folder.write(RunFolder::kWorldFile, world_text);  // the result says what is missing
  const fs::path events_path = folder.path() / RunFolder::kEventsFile;
  std::ofstream events(events_path, std::ios::trunc);
  if (!events) return make_error(Code::permission_denied, events_path.string() + ": cannot write");
  const auto simulate = [&](const cluster::JobSpec& job, const Reporter& report) {
    return context.simulate(job, world,
                            {.faults = faults,
                             .seed = seed,
                             .data_folder = data::data_folder(state.data().data_dir),
                             .limit = state.time_limit,
                             .stop = context.stop,
                             .report = report,
                             .log = [&](std::string_view line) { events << line << '\n'; },
                             .is_modelled = is_modelled});
  };
  ClusterSession no_cluster(context.output.quiet);
  JobContext job{no_cluster, folder, context.output, context.stop};
  MG_TRY(json result,
         state.is_inference ? run_infer(state.infer, job, simulate) : run_train(state.train, job, simulate));
  events.flush();
  const Status told = events ? Status() : make_error(Code::resource_exhausted, events_path.string() + ": cannot write");
  std::ignore = folder.noted(events_path.filename().string(), told);
  if (is_modelled) result.erase("model_file");
  RunFacts facts;
  facts.world = state.world_file;
  facts.events_file = events_path.string();
  facts.add_to(result);
  // the result of inference says more of each
  if (!state.is_inference) result.emplace("devices", world.devices.size() - 1);
  const std::string learnt = !is_modelled         ? ""
                             : state.is_inference ? ", and nothing was answered"
                                                  : ", and nothing was learnt";
  const std::string summary =
      "Simulated: times are virtual" + learnt + "\n" + summary_table({{state.section(), result}});
  return leave_result(result, summary, folder, context);
}

/// Runs the program that can simulate in place of this one. Returns only if it cannot. errors: failed_precondition.
Status become_simulator(std::vector<std::string> arguments) {
  std::error_code code;
  const fs::path simulator = fs::read_symlink("/proc/self/exe", code).parent_path() / "mangrove-sim";
  if (code) return make_error(Code::failed_precondition, "sim: /proc/self/exe: " + code.message());
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  ::execv(simulator.c_str(), pointers.data());
  return make_error(Code::failed_precondition, "sim: the program " + simulator.string() + " cannot be started: " +
                                                   std::strerror(errno) + "; the package mangrove-sim has it");
}

}  // namespace

void add_sim_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("sim", "train or classify on the devices of a virtual world, in virtual time");
  auto state = std::make_shared<SimState>();
  std::vector<StrategyText> strategies = strategy_texts(train::strategies());
  for (StrategyText& strategy : strategy_texts(infer::strategies())) strategies.push_back(std::move(strategy));
  add_strategy_help(*command, {state->train.keys(), state->infer.keys()}, std::move(strategies));
  command->add_option("world", state->world_file, "world file: devices, regions, links")->required();
  command->add_option("job", state->job_file, "job file with a section train or infer")->required();
  command->add_option("--faults", state->fault_file, "file of faults: crashes, freezes, partitions, slow links")
      ->type_name("FILE")
      ->group("Simulation");
  command->add_option("--fault-seed", state->fault_seed, "draw one to four faults from this seed")
      ->type_name("N")
      ->group("Simulation");
  add_flags(*command, state->sim_keys(), state->sim_overrides);
  add_flags(*command, state->train.keys(), state->overrides, is_sim_flag);
  add_flags(*command, state->infer.keys(), state->overrides, is_sim_flag);
  add_output_flags(*command, context.output);
  command->footer(
      "The flags of `mangrove train` and `mangrove infer` can be used too, except those\n"
      "that say where a job runs. A flag that the job of the file has not is refused.\n"
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
      "  mangrove sim examples/worlds/boards.yaml examples/worlds/infer-job.yaml \\\n"
      "               --model runs/trained/model.onnx\n"
      "The same files and seed give the same run, bit for bit. The run folder gets what\n"
      "`mangrove train` or `mangrove infer` leaves there, and events.jsonl.\n"
      "docs/simulation.md explains world and fault files.");
  command->callback([&context, state] {
    context.action = [&context, state] {
      return context.simulate == nullptr ? become_simulator(context.arguments) : run_sim(*state, context);
    };
  });
}

}  // namespace mangrove::cli
