#include "mangrove/cli/reports/place_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "mangrove/base/format.h"

namespace mangrove::cli {
namespace {

using place::Evaluation;
using place::Problem;
using place::Solution;
using Outcome = place::Solution::Outcome;

constexpr std::size_t kMostPlaceRows = 20;  // of a table

const char* outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::optimal:
      return "optimal";
    case Outcome::feasible:
      return "feasible";
    case Outcome::infeasible:
      return "infeasible";
    case Outcome::none:
      break;
  }
  return "none";
}

std::optional<double> gap_of(const std::optional<double>& value, const std::optional<double>& bound) {
  if (!value || !bound) return std::nullopt;
  if (*value <= 0) return 0;
  return std::max(0.0, (*value - *bound) / *value);
}

/// Columns as wide as what stands in them; the first is on the left, others are on the right unless `lefts` has them.
std::string aligned(const std::vector<std::vector<std::string>>& rows, const std::set<std::size_t>& lefts) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  const std::size_t shown = rows.size() - 1 > kMostPlaceRows ? kMostPlaceRows : rows.size();
  for (std::size_t r = 0; r < shown; ++r)
    for (std::size_t c = 0; c < widths.size(); ++c) widths[c] = std::max(widths[c], rows[r][c].size());
  std::string text;
  for (std::size_t r = 0; r < shown; ++r) {
    std::string line = " ";
    for (std::size_t c = 0; c < widths.size(); ++c)
      line += lefts.contains(c) ? fmt::format(" {:<{}} ", rows[r][c], widths[c])
                                : fmt::format(" {:>{}} ", rows[r][c], widths[c]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  if (shown < rows.size()) text += fmt::format("  and {} more: --json has all of them\n", rows.size() - shown);
  return text;
}

std::string services_text(const PlaceReport& report) {
  std::vector<std::vector<std::string>> rows{{"service", "mean", "worst", "deadline", "available"}};
  for (const auto& service : report.services)
    rows.push_back({service.name, format_seconds(service.latency), format_seconds(service.worst_latency),
                    service.deadline ? format_seconds(*service.deadline) : "-", format_percent(service.availability)});
  return aligned(rows, {0});
}

std::string tasks_text(const PlaceReport& report) {
  std::vector<std::vector<std::string>> rows{{"task", "device", "time", "load"}};
  for (const auto& task : report.tasks)
    rows.push_back({task.service + "/" + task.task + (task.copy > 1 ? fmt::format(" (copy {})", task.copy) : ""),
                    task.device, format_seconds(task.time), format_percent(task.load, 1)});
  return aligned(rows, {0, 1});
}

std::string devices_text(const PlaceReport& report) {
  std::vector<std::vector<std::string>> rows{{"device", "tasks", "cores", "accelerator", "allowed", "memory", "of"}};
  for (const auto& device : report.devices)
    rows.push_back({device.name, format_count(static_cast<std::int64_t>(device.tasks)), format_percent(device.cores, 1),
                    device.accelerator > 0 ? format_percent(device.accelerator, 1) : "-",
                    format_percent(device.utilisation, 0), format_bytes(device.memory),
                    device.memory_limit ? format_bytes(*device.memory_limit) : "-"});
  return aligned(rows, {0});
}

std::string links_text(const PlaceReport& report) {
  if (report.links.empty()) return "";
  std::vector<std::vector<std::string>> rows{{"link", "carries", "of its rate"}};
  for (const auto& link : report.links)
    rows.push_back({link.between[0] + " - " + link.between[1], format_number(link.carried * 8 / 1e6) + " Mbit/s",
                    link.share ? format_percent(*link.share, 1) : "-"});
  return aligned(rows, {0});
}

std::string comparison_text(const PlaceReport& report) {
  if (report.comparison.empty()) return "";
  std::vector<std::vector<std::string>> rows{{"solver", report.objective, "gap", "time"}};
  std::string reasons;
  for (const auto& one : report.comparison) {
    rows.push_back({one.solver, one.value ? format_number(*one.value) : "-", one.gap ? format_percent(*one.gap) : "-",
                    format_seconds(one.solving)});
    if (!one.why.empty()) reasons += fmt::format("  {}: {}\n", one.solver, one.why);
  }
  return "Comparison of solvers; the gap is to the best bound\n" + aligned(rows, {0}) + reasons;
}

std::string negotiation_text(const PlaceReport::Result& result) {
  if (!result.rounds) return "";
  return fmt::format("  the domains agreed after {} with {}\n",
                     format_things(static_cast<std::int64_t>(*result.rounds), "round"),
                     format_things(static_cast<std::int64_t>(*result.messages), "message"));
}

std::string proof_text(const PlaceReport::Result& result) {
  if (result.outcome == outcome_name(Outcome::optimal)) return "proven to be the best";
  if (!result.gap) return "without a bound";
  return "no placement is better by more than " + format_percent(*result.gap);
}

}  // namespace

place::Before before_of(const Problem& problem, const PreviousPlacement& previous, std::size_t most_moves) {
  using Name = std::tuple<std::string, std::string, std::size_t>;  // service, task, copy
  std::map<std::string, std::uint32_t> devices;
  for (std::uint32_t d = 0; d < problem.scenario().devices.size(); ++d)
    devices.emplace(problem.scenario().devices[d].name, d);
  std::map<Name, std::uint32_t> places;
  for (const PreviousPlacement::Task& task : previous.tasks)
    if (const auto device = devices.find(task.device); device != devices.end())
      places.emplace(Name{task.service, task.task, task.copy}, device->second);
  place::Before before{{}, most_moves};
  for (std::size_t p = 0; p < problem.parts().size(); ++p) {
    const auto place = places.find({problem.service(p).name, problem.task(p).name, problem.parts()[p].copy + 1});
    before.devices.push_back(place != places.end() ? place->second : place::kNowhere);
  }
  return before;
}

PlaceReport::Result place_result(const Problem& problem, const place::Objective& objective, std::string_view solver,
                                 const Solution& solution, Seconds solving) {
  PlaceReport::Result result;
  result.solver = solver;
  result.outcome = outcome_name(solution.outcome);
  result.why = solution.why;
  if (!solution.placement.empty())
    result.value = values_of(objective, evaluate(problem, solution.placement).measures).front();
  result.bound = solution.bound;
  result.gap = gap_of(result.value, result.bound);
  result.solving = solving;
  if (solution.negotiation) {
    result.rounds = solution.negotiation->rounds;
    result.messages = solution.negotiation->messages;
  }
  return result;
}

void compare_results(std::vector<PlaceReport::Result>& results) {
  std::optional<double> best;
  for (const auto& result : results)
    if (result.bound) best = best ? std::max(*best, *result.bound) : *result.bound;
  for (auto& result : results) {
    result.bound = best;
    result.gap = gap_of(result.value, best);
  }
}

PlaceReport place_report(const Problem& problem, const std::string& objective, PlaceReport::Result result,
                         const Solution& solution) {
  PlaceReport report;
  report.objective = objective;
  report.result = std::move(result);
  const place::Scenario& scenario = problem.scenario();
  report.all_devices = scenario.devices.size();
  if (solution.placement.empty()) return report;
  const Evaluation evaluation = evaluate(problem, solution.placement);
  report.cost = evaluation.measures.cost;
  report.energy = evaluation.measures.energy;
  report.latency = evaluation.measures.latency;
  report.worst_latency = evaluation.measures.worst_latency;
  report.devices_used = static_cast<std::size_t>(std::lround(evaluation.measures.devices));
  if (!problem.before().devices.empty())
    report.moves = static_cast<std::size_t>(std::lround(evaluation.measures.moves));
  std::vector<std::size_t> tasks_on(scenario.devices.size(), 0);
  for (std::size_t p = 0; p < problem.parts().size(); ++p) {
    const std::size_t d = solution.placement[p];
    ++tasks_on[d];
    report.tasks.push_back({problem.service(p).name, problem.task(p).name, problem.parts()[p].copy + 1,
                            scenario.devices[d].name, problem.time(p, d), problem.load(p, d)});
  }
  for (std::size_t s = 0; s < scenario.services.size(); ++s) {
    const auto& measures = evaluation.services[s];
    const Seconds deadline = scenario.services[s].deadline;
    report.services.push_back({scenario.services[s].name, measures.mean_latency, measures.worst_latency,
                               std::isfinite(deadline) ? std::optional(deadline) : std::nullopt,
                               measures.availability});
  }
  for (std::size_t d = 0; d < scenario.devices.size(); ++d) {
    if (!evaluation.devices[d].is_used) continue;
    const place::Device& device = scenario.devices[d];
    const place::DeviceLoad& load = evaluation.devices[d];
    report.devices.push_back({device.name, device.zone, tasks_on[d], load.cores, load.accelerator, device.utilisation,
                              load.memory, device.memory > 0 ? std::optional(device.memory) : std::nullopt});
  }
  for (std::size_t l = 0; l < scenario.links.size(); ++l) {
    const place::Link& link = scenario.links[l];
    if (evaluation.links[l] > 0)
      report.links.push_back(
          {{scenario.devices[link.from].name, scenario.devices[link.to].name},
           evaluation.links[l],
           std::isfinite(link.rate) ? std::optional(evaluation.links[l] / link.rate) : std::nullopt});
  }
  return report;
}

std::string place_summary(const PlaceReport& report) {
  if (!report.result.value) return "No placement: " + report.result.why;
  return fmt::format("Placement: {} on {} of {}, {}", format_things(std::ssize(report.tasks), "task"),
                     report.devices_used, format_things(static_cast<std::int64_t>(report.all_devices), "device"),
                     proof_text(report.result));
}

std::string place_text(const PlaceReport& report) {
  std::string text = place_summary(report) + "\n";
  if (report.result.value)
    text += fmt::format("  cost {} an hour, {} W, mean latency {}, worst latency {}; solved in {}\n",
                        format_number(report.cost), format_number(report.energy), format_seconds(report.latency),
                        format_seconds(report.worst_latency), format_seconds(report.result.solving)) +
            (report.moves ? "  " + format_things(static_cast<std::int64_t>(*report.moves), "task") +
                                " on another device than before\n"
                          : "") +
            negotiation_text(report.result) + services_text(report) + tasks_text(report) + devices_text(report) +
            links_text(report);
  return text + comparison_text(report);
}

}  // namespace mangrove::cli
