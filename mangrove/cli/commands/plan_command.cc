#include <fmt/format.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/base/file.h"
#include "mangrove/base/suggestion.h"
#include "mangrove/cli/command.h"
#include "mangrove/cli/commands/plan_network.h"
#include "mangrove/cli/flag_ranges.h"
#include "mangrove/cli/reports/drawing.h"
#include "mangrove/cli/reports/plan_report.h"
#include "mangrove/cli/reports/stage_picture.h"
#include "mangrove/cli/reports/tile_picture.h"
#include "mangrove/cli/reports/tile_plan_report.h"
#include "mangrove/job/json_fields.h"
#include "mangrove/plan/planner.h"
#include "mangrove/plan/tile_comparison.h"
#include "mangrove/plan/tile_partitioner.h"

namespace mangrove::cli {
namespace {

struct PlanState {
  PlanSource source;
  std::string objective;
  std::int64_t replicas = 0;
  bool tiles = false;
  std::string picture;
  Overrides overrides;

  Keys keys() {
    Keys keys;
    keys.begin_group("Model");
    keys.add("model", source.model, "a network of the zoo (`mangrove model list` shows them) or an ONNX file");
    keys.add("profile", source.profile,
             "profile of the network: a file of `mangrove profile`, or a graph.txt of PipeDream's");
    source.settings.declare(keys);
    keys.begin_group("Devices");
    keys.add("devices", source.devices, "file of the devices, their links and memory limits (docs/planning.md)");
    keys.begin_group("Plan");
    keys.add("objective", objective,
             "what the plan is best for: throughput, latency or energy; default: throughput, with --tiles latency");
    keys.add("batch", source.batch, "samples in a micro-batch; 0: as many as in the profile", or_zero(batch_range()));
    keys.add("replicas", replicas, "maximum number of devices per stage; 0: no limit", replica_range());
    keys.add("train", source.train, "plan for training: with the backward pass, and gradients that are sent back");
    keys.add("tiles", tiles, "devices compute parts of each sample, in place of stages (docs/tiles.md)");
    keys.begin_group("Output");
    keys.add("picture", picture, "SVG file for a picture of the plan");
    return keys;
  }
};

Result<plan::Objective> parse_objective(const std::string& name) {
  const std::map<std::string, plan::Objective> known = {{"throughput", plan::Objective::throughput},
                                                        {"latency", plan::Objective::latency},
                                                        {"energy", plan::Objective::energy}};
  if (const auto found = known.find(name); found != known.end()) return found->second;
  std::vector<std::string> names;
  names.reserve(known.size());
  for (const auto& [one, objective] : known) names.push_back(one);
  return make_error(Code::invalid_argument, "--objective: unknown objective '" + name + "'" + suggestion(name, names));
}

/// What was typed, where it can be refused before anything is read.
Status check_plan(const PlanState& state, plan::Objective objective) {
  const auto refused = [](const std::string& what) { return make_error(Code::invalid_argument, what); };
  if (!state.picture.empty()) MG_RETURN_IF_ERROR(check_picture_path(state.picture));
  const PlanSource& source = state.source;
  if (source.devices.empty() || source.model.empty() != source.is_pipedream())
    return refused("plan: give --devices and --model, or --devices and --profile FILE.graph.txt alone");
  if (!state.tiles) return {};
  if (source.is_pipedream())
    return refused("--tiles: a profile of PipeDream's does not say how large images are: give --model");
  if (source.train) return refused("--tiles: networks are trained in stages: leave --train out");
  if (state.replicas > 0) return refused("--tiles: devices share a sample, none is a replica: leave --replicas out");
  if (objective == plan::Objective::energy)
    return refused("--objective: tiles are planned for latency or throughput, not for energy");
  return {};
}

/// Writes the picture, where one is wanted. Returns a line about it.
Result<std::string> write_picture(const PlanState& state, const std::string& title,
                                  const std::vector<Drawing>& drawings) {
  if (state.picture.empty()) return std::string();
  MG_RETURN_IF_ERROR(write_file_atomically(state.picture, svg_file(title, drawings)));
  return "Picture: " + state.picture + "\n";
}

Status plan_in_stages(const PlanState& state, const PlanNetwork& network, const OutputOptions& output) {
  const plan::Problem& problem = network.problem;
  const SteadyClock clock;
  const Instant start = clock.now();
  MG_TRY(const plan::Plan plan, plan::make_plan(problem));
  const Seconds planning = clock.now() - start;
  MG_TRY(const plan::Advice advice, plan::advise(problem, plan));
  PlanReport report = plan_report(problem, plan, advice);
  report.planning = planning;
  MG_TRY(const std::string picture,
         write_picture(state, plan_summary(problem, plan), {stage_drawing(report.plan.stages)}));
  return print_result(job::json_of(report), network.note + plan_text(problem, plan, advice) + picture, output);
}

Status plan_in_tiles(const PlanState& state, const PlanNetwork& network, const OutputOptions& output) {
  const plan::TileProblem problem = network.tile_problem();
  const SteadyClock clock;
  const Instant start = clock.now();
  MG_TRY(const std::vector<plan::TilePlan> teams, plan::tile_partitioners().front().plan(problem));
  const Seconds planning = clock.now() - start;
  TilePlanReport report =
      tile_plan_report(problem, network.problem, teams, plan::tile_alternatives(problem, network.problem, teams));
  report.planning = planning;
  MG_TRY(const std::string picture, write_picture(state, tile_plan_summary(report), tile_drawings(report.teams)));
  return print_result(job::json_of(report), network.note + tile_plan_text(report) + picture, output);
}

Status run_plan(PlanState& state, const OutputOptions& output) {
  MG_RETURN_IF_ERROR(apply_overrides(state.overrides, state.keys()));
  if (state.objective.empty()) state.objective = state.tiles ? "latency" : "throughput";
  MG_TRY(const plan::Objective objective, parse_objective(state.objective));
  MG_RETURN_IF_ERROR(check_plan(state, objective));
  MG_TRY(PlanNetwork network, load_plan_network(state.source));
  network.problem.objective = objective;
  network.problem.training = state.source.train;
  network.problem.most_replicas = static_cast<std::size_t>(state.replicas);
  return state.tiles ? plan_in_tiles(state, network, output) : plan_in_stages(state, network, output);
}

}  // namespace

void add_plan_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("plan", "predict the best plan of a network over unequal devices");
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
      "  mangrove plan --model resnet-20 --profile pc.yaml \\\n"
      "                --devices examples/plan/boards.yaml --tiles --picture plan.svg\n"
      "  mangrove plan --profile vgg16.graph.txt --train --devices boards.yaml\n"
      "docs/planning.md explains profiles, device files, and what a plan counts.");
  command->callback(
      [&context, state] { context.action = [&context, state] { return run_plan(*state, context.output); }; });
}

}  // namespace mangrove::cli
