#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/base/file.h"
#include "mangrove/base/table.h"
#include "mangrove/cli/command.h"
#include "mangrove/cli/flag_ranges.h"
#include "mangrove/cli/reports/place_picture.h"
#include "mangrove/cli/reports/place_report.h"
#include "mangrove/cli/reports/progress.h"
#include "mangrove/job/json_fields.h"
#include "mangrove/place/scenario_file.h"
#include "mangrove/place/solver.h"

namespace mangrove::cli {
namespace {

constexpr std::int64_t kAnyMoves = place::kMostTasks;

struct PlaceState {
  std::string scenario;
  std::string solver = std::string(place::solvers().front().name);
  std::string objective = "cost";
  Seconds time_limit = 60;
  std::int64_t seed = 1;
  bool compare = false;
  std::string previous;
  std::int64_t most_moves = kAnyMoves;
  std::string picture;
  Overrides overrides;

  Keys keys() {
    Keys keys;
    keys.begin_group("Placement");
    keys.add("objective", objective,
             "what is least: " + join_words(row_names(place::measures())) +
                 "; 'latency,cost': the first, then the second; 'cost+9*latency': a sum with weights");
    keys.add("solver", solver, "how the placement is found: " + join_words(row_names(place::solvers())));
    keys.add_seconds("time_limit", time_limit, "then the best so far is the result", 0.1, 1e6);
    keys.add("seed", seed, "of the random choices of solvers", seed_range());
    keys.add("compare", compare, "run all solvers, and show how far each is from the best bound");
    keys.begin_group("Placing anew");
    keys.add("previous", previous,
             "what `mangrove place --json` said before: then tasks that leave their device count");
    keys.add("most_moves", most_moves, "tasks that may leave the device that they had", 0, kAnyMoves);
    keys.begin_group("Output");
    keys.add("picture", picture, "SVG file for a picture of the placement");
    return keys;
  }
};

/// What a solver made of the problem.
struct Solved {
  place::Solution solution;
  PlaceReport::Result result;
};

Result<Solved> solve(const place::SolverRow& row, const place::Problem& problem, const place::SolveOptions& options) {
  const SteadyClock clock;
  const Instant start = clock.now();
  MG_TRY(place::Solution solution, row.solve(problem, options));
  PlaceReport::Result result = place_result(problem, options.objective, row.name, solution, clock.now() - start);
  return Solved{std::move(solution), std::move(result)};
}

/// What all solvers make of it. known: what one of them did.
std::vector<PlaceReport::Result> compare(const place::Problem& problem, const place::SolveOptions& options,
                                         const PlaceReport::Result& known) {
  std::vector<PlaceReport::Result> results;
  for (const place::SolverRow& row : place::solvers()) {
    if (row.name == place::solvers().front().name) continue;  // it is one of the others
    if (!row.applies(problem)) continue;
    if (row.name == known.solver) {
      results.push_back(known);
      continue;
    }
    auto solved = solve(row, problem, options);
    if (solved.ok())
      results.push_back(std::move(solved->result));
    else
      results.push_back({.solver = std::string(row.name), .outcome = "none", .why = solved.error().message});
  }
  compare_results(results);
  return results;
}

Status run_place(PlaceState& state, CommandContext& context) {
  MG_RETURN_IF_ERROR(apply_overrides(state.overrides, state.keys()));
  if (!state.picture.empty()) MG_RETURN_IF_ERROR(check_picture_path(state.picture));
  place::SolveOptions options;
  auto objective = place::parse_objective(state.objective).context("--objective");
  if (!objective.ok()) return objective.error();
  options.objective = *objective;
  options.time_limit = state.time_limit;
  options.seed = static_cast<std::uint64_t>(state.seed);
  options.stop = context.stop;
  auto row = find_row(place::solvers(), state.solver, "--solver: unknown solver", Code::invalid_argument);
  if (!row.ok()) return row.error();
  MG_TRY(place::Scenario scenario, place::load_scenario(state.scenario));
  place::Problem problem(std::move(scenario));
  if (!state.previous.empty()) {
    MG_TRY(const std::string text, read_file(state.previous));
    auto previous = job::parse_json<PreviousPlacement>(text).context(state.previous);
    if (!previous.ok()) return make_error(Code::invalid_argument, previous.error().message);
    problem.set_before(before_of(problem, *previous, static_cast<std::size_t>(state.most_moves)));
  } else if (state.most_moves != kAnyMoves) {
    return make_error(Code::invalid_argument, "--most-moves: moves are counted from a placement: give --previous too");
  }

  std::optional<WaitDisplay> waiting(std::in_place, shows_progress(context.output), "place", state.time_limit);
  MG_TRY(const Solved solved, solve(**row, problem, options));
  PlaceReport report = place_report(problem, state.objective, solved.result, solved.solution);
  if (state.compare) report.comparison = compare(problem, options, solved.result);
  waiting.reset();

  std::string text = place_text(report);
  if (!state.picture.empty() && !solved.solution.placement.empty()) {
    MG_RETURN_IF_ERROR(write_file_atomically(state.picture, svg_file(place_summary(report), place_drawings(report))));
    text += "Picture: " + state.picture + "\n";
  }
  context.failed = solved.solution.placement.empty();
  return print_result(job::json_of(report), text, context.output);
}

}  // namespace

void add_place_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("place", "place services on devices, edge servers and the cloud");
  auto state = std::make_shared<PlaceState>();
  command->add_option("scenario", state->scenario, "YAML file of devices, links and services (docs/placement.md)")
      ->required()
      ->type_name("FILE");
  add_flags(*command, state->keys(), state->overrides);
  add_output_flags(*command, context.output);
  command->footer(
      "Examples:\n"
      "  mangrove place examples/placement/tomato-farm.yaml\n"
      "  mangrove place examples/placement/tomato-farm.yaml \\\n"
      "                 --objective latency,cost --picture farm.svg\n"
      "  mangrove place examples/placement/smart-city.yaml --compare --json\n"
      "  mangrove place now.yaml --previous before.json --most-moves 3\n"
      "docs/placement.md explains scenarios, and what a placement counts.");
  command->callback([&context, state] { context.action = [&context, state] { return run_place(*state, context); }; });
}

}  // namespace mangrove::cli
