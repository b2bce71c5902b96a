#include <fmt/format.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "mangrove/base/clock.h"
#include "mangrove/base/suggestion.h"
#include "mangrove/cli/command.h"
#include "mangrove/cli/flag_ranges.h"
#include "mangrove/cli/reports/plan_report.h"
#include "mangrove/cli/sources/model_source.h"
#include "mangrove/cli/sources/rewriting.h"
#include "mangrove/job/json_fields.h"
#include "mangrove/plan/device_file.h"
#include "mangrove/plan/operator_memory.h"
#include "mangrove/plan/operator_times.h"
#include "mangrove/plan/pipedream.h"

namespace mangrove::cli {
namespace {

struct PlanState {
  std::string model, profile, devices;
  std::string objective = "throughput";
  std::int64_t batch = 0;
  std::int64_t replicas = 0;
  bool train = false;
  ModelSettings settings;
  Overrides overrides;

  Keys keys() {
    Keys keys;
    keys.begin_group("Model");
    keys.add("model", model, "a network of the zoo (`mangrove model list` shows them) or an ONNX file");
    keys.add("profile", profile, "profile of the network: a file of `mangrove profile`, or a graph.txt of PipeDream's");
    settings.declare(keys);
    keys.begin_group("Devices");
    keys.add("devices", devices, "file of the devices, their links and memory limits (docs/planning.md)");
    keys.begin_group("Plan");
    keys.add("objective", objective, "what the plan is best for: throughput, latency or energy");
    keys.add("batch", batch, "samples in a micro-batch; 0: as many as in the profile", or_zero(batch_range()));
    keys.add("replicas", replicas, "maximum number of devices per stage; 0: no limit", replica_range());
    keys.add("train", train, "plan for training: with the backward pass, and gradients that are sent back");
    return keys;
  }
};

Result<plan::Objective> parse_objective(const std::string& name) {
  const std::map<std::string, plan::Objective> known = {{"throughput", plan::Objective::throughput},
                                                        {"latency", plan::Objective::latency},
                                                        {"energy", plan::Objective::energy}};
  if (const auto found = known.find(name); found != known.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [one, objective] : known) names.push_back(one);
  return make_error(Code::invalid_argument, "--objective: unknown objective '" + name + "'" + suggestion(name, names));
}

/// Times of the network's layers on each device, from its own profile or the common one.
class Timing {
 public:
  Timing(const Graph& graph, const plan::GraphLayers& layers, bool training)
      : graph_(graph), layers_(layers), training_(training) {}

  Status add(plan::ListedDevice& listed, const std::string& common) {
    const std::string& path = listed.profile.empty() ? common : listed.profile;
    if (path.empty())
      return make_error(Code::invalid_argument, "device '" + listed.device.name +
                                                    "' has no times: give --profile FILE, or its kind a key 'profile'");
    if (!times_.contains(path)) {
      MG_TRY(const plan::Profile profile, plan::load_profile(path));
      MG_TRY(times_[path], plan::layer_times(graph_, layers_, profile, training_).context(path));
      process_[path] = profile.process;
      const std::vector<plan::LayerMemory> memory = plan::layer_memory(graph_, layers_, profile, training_);
      memory_ = memory_.empty() ? memory : plan::larger(memory_, memory);
    }
    listed.device.seconds = times_[path].seconds;
    for (Seconds& seconds : listed.device.seconds) seconds /= listed.speed;
    listed.device.reserved = process_[path];
    return {};
  }

  /// The largest on any device. REQUIRES: one was added.
  const std::vector<plan::LayerMemory>& memory() const { return memory_; }

  /// Of how many operators the times are predicted, by profile.
  std::string note() const {
    std::string text;
    for (const auto& [path, times] : times_)
      if (times.predicted > 0)
        text += fmt::format("{}: {} of {} operators are not in it; their times are predicted by its cost model\n", path,
                            times.predicted, graph_.nodes().size());
    return text;
  }

 private:
  const Graph& graph_;
  const plan::GraphLayers& layers_;
  const bool training_;
  std::map<std::string, plan::LayerTimes> times_;
  std::map<std::string, Bytes> process_;
  std::vector<plan::LayerMemory> memory_;
};

Result<std::int64_t> batch_of(const PlanState& state, const plan::DeviceFile& devices) {
  if (state.batch > 0) return state.batch;
  const std::string& path = state.profile.empty() ? devices.devices.front().profile : state.profile;
  if (path.empty()) return std::int64_t{1};  // an error soon
  MG_TRY(const plan::Profile profile, plan::load_profile(path));
  return profile.batch;
}

/// What is to be planned, and what must be said about its times.
struct Timed {
  plan::Problem problem;
  std::string note;
};

Result<Timed> time_model(const PlanState& state, plan::DeviceFile file) {
  MG_TRY(std::optional<Graph> graph, open_model(state.model, state.settings));
  if (!state.train) {
    MG_TRY(graph, rewritten_for_inference(*graph, {}));
  }
  MG_TRY(const std::int64_t batch, batch_of(state, file));
  const plan::GraphLayers layers = plan::layers_of(*graph, batch, state.train);
  Timing timing(*graph, layers, state.train);
  Timed timed{{layers.network, {}, file.ways}, {}};
  for (plan::ListedDevice& listed : file.devices) {
    MG_RETURN_IF_ERROR(timing.add(listed, state.profile));
    timed.problem.devices.push_back(std::move(listed.device));
  }
  plan::set_memory(timed.problem.network, timing.memory());
  timed.note = timing.note();
  return timed;
}

/// A profile that has the network too.
Result<Timed> time_pipedream(const PlanState& state, plan::DeviceFile file) {
  MG_TRY(plan::PipeDreamProfile profile, plan::load_pipedream(state.profile));
  if (state.batch > 1) profile.network.batch = state.batch;  // what the profile was measured at
  if (!state.train) plan::measure_living(profile.network);
  Timed timed{{std::move(profile.network), {}, file.ways}, {}};
  for (plan::ListedDevice& listed : file.devices) {
    if (!listed.profile.empty())
      return make_error(Code::invalid_argument, "device '" + listed.device.name +
                                                    "' has a key 'profile': with a profile of PipeDream's, give its "
                                                    "kind a 'speed' instead");
    for (std::size_t i = 0; i < profile.forward.size(); ++i)
      listed.device.seconds.push_back((profile.forward[i] + (state.train ? profile.backward[i] : 0)) / listed.speed);
    timed.problem.devices.push_back(std::move(listed.device));
  }
  return timed;
}

Status run_plan(PlanState& state, const OutputOptions& output) {
  MG_RETURN_IF_ERROR(apply_overrides(state.overrides, state.keys()));
  const bool is_pipedream = fs::path(state.profile).extension() == ".txt";
  if (state.devices.empty() || state.model.empty() != is_pipedream)
    return make_error(Code::invalid_argument,
                      "plan: give --devices and --model, or --devices and --profile FILE.graph.txt alone");
  MG_TRY(plan::DeviceFile file, plan::load_devices(state.devices));
  MG_TRY(Timed timed, is_pipedream ? time_pipedream(state, std::move(file)) : time_model(state, std::move(file)));
  plan::Problem& problem = timed.problem;
  MG_TRY(problem.objective, parse_objective(state.objective));
  problem.training = state.train;
  problem.most_replicas = static_cast<std::size_t>(state.replicas);
  const SteadyClock clock;
  const Instant start = clock.now();
  MG_TRY(const plan::Plan plan, plan::make_plan(problem));
  const Seconds planning = clock.now() - start;
  MG_TRY(const plan::Advice advice, plan::advise(problem, plan));
  PlanReport report = plan_report(problem, plan, advice);
  report.planning = planning;
  return print_result(job::json_of(report), timed.note + plan_text(problem, plan, advice), output);
}

}  // namespace

void add_plan_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("plan", "predict the best pipeline of a network over unequal devices");
  auto state = std::make_shared<PlanState>();
  add_flags(*command, state->keys(), state->overrides);
  add_output_flags(*command, context.output);
  command->footer(
      "Examples:\n"
      "  mangrove profile resnet-20 --batch 8 --output pc.yaml\n"
      "  mangrove plan --model resnet-20 --profile pc.yaml \\\n"
      "                --devices examples/plan/boards.yaml\n"
      "  mangrove plan --model resnet-20 --profile pc.yaml \\\n"
      "                --devices examples/plan/boards.yaml --objective latency --json\n"
      "  mangrove plan --profile vgg16.graph.txt --train --devices boards.yaml\n"
      "docs/planning.md explains profiles, device files, and what a plan counts.");
  command->callback(
      [&context, state] { context.action = [&context, state] { return run_plan(*state, context.output); }; });
}

}  // namespace mangrove::cli
