#include "mangrove/cli/reports/tile_plan_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "mangrove/base/format.h"
#include "mangrove/base/suggestion.h"

namespace mangrove::cli {
namespace {

using Report = TilePlanReport;

Report::Block block_report(const plan::TileProblem& problem, const plan::TileBlock& block) {
  const auto& nodes = problem.graph.nodes();
  Report::Block report{nodes[block.first].name, nodes[block.last - 1].name, block.last - block.first, {}};
  for (const plan::TilePart& part : block.parts) {
    Report::Tile& tile = report.tiles.emplace_back(Report::Tile{problem.devices[part.device].name, {}, part.busy});
    const Region& output = part.output;
    if (block.is_tiled()) tile.region = {output.top, output.left, output.bottom, output.right};
  }
  return report;
}

Report::Team team_report(const plan::TileProblem& problem, const plan::TilePlan& team) {
  Report::Team report{.source = problem.devices[team.source].name,
                      .latency = team.latency,
                      .period = team.period,
                      .work = team.work,
                      .sent_bytes = team.sent,
                      .limited_by = team.limiting,
                      .uses = {},
                      .blocks = {}};
  for (const std::size_t device : team.devices())
    report.uses.push_back({problem.devices[device].name, team.memory[device]});
  for (const plan::TileBlock& block : team.blocks) report.blocks.push_back(block_report(problem, block));
  return report;
}

std::string operators_text(const Report::Block& block) {
  if (block.operators == 1) return block.first;
  return fmt::format("{} .. {} ({})", block.first, block.last, block.operators);
}

std::string range_text(const Report::Tile& tile, std::size_t from, std::size_t to) {
  return tile.region.size() == 4 ? fmt::format("{} - {}", tile.region[from], tile.region[to] - 1) : "all";
}

std::string blocks_text(const Report::Team& team) {
  std::size_t operators = 9, devices = 6;  // widths
  for (const Report::Block& block : team.blocks) {
    operators = std::max(operators, operators_text(block).size());
    for (const Report::Tile& tile : block.tiles) devices = std::max(devices, tile.device.size());
  }
  std::string text = fmt::format("  {:<5}  {:<{}}  {:<{}}  {:>9}  {:>9}  {:>8}\n", "block", "operators", operators,
                                 "device", devices, "rows", "columns", "time");
  for (std::size_t b = 0; b < team.blocks.size(); ++b) {
    const Report::Block& block = team.blocks[b];
    for (const Report::Tile& tile : block.tiles) {
      const bool is_first = &tile == &block.tiles.front();
      text += fmt::format("  {:<5}  {:<{}}  {:<{}}  {:>9}  {:>9}  {:>8}\n", is_first ? std::to_string(b + 1) : "",
                          is_first ? operators_text(block) : "", operators, tile.device, devices,
                          range_text(tile, 0, 2), range_text(tile, 1, 3), format_seconds(tile.busy));
    }
  }
  return text;
}

std::string team_text(const Report::Team& team, std::size_t number) {
  std::string memory;
  for (const Report::Use& use : team.uses)
    memory += fmt::format("{}{} {}", memory.empty() ? "" : ", ", use.device, format_bytes(use.memory));
  return fmt::format("Team {}: source {}, latency {}, period {}, {} times the network's work, sends {}\n", number,
                     team.source, format_seconds(team.latency), format_seconds(team.period), format_number(team.work),
                     format_bytes(team.sent_bytes)) +
         blocks_text(team) + "  limited by " + team.limited_by + "\n  memory: " + memory + "\n";
}

std::string comparison_text(const Report& report) {
  std::size_t names = 9;
  for (const Report::Alternative& one : report.comparison) names = std::max(names, one.name.size());
  std::string text = fmt::format("Comparison\n  {:<{}}  {:>7}  {:>8}  {:>9}  {:>8}  {:>6}  {:>8}\n", "", names,
                                 "devices", "latency", "samples/s", "memory", "work", "sends");
  std::string reasons;
  for (const Report::Alternative& one : report.comparison) {
    if (!one.why_not.empty()) {
      reasons += fmt::format("  {}: {}\n", one.name, one.why_not);
      continue;
    }
    text += fmt::format("  {:<{}}  {:>7}  {:>8}  {:>9}  {:>8}  {:>6}  {:>8}\n", one.name, names, one.devices,
                        format_seconds(one.latency), format_number(one.samples_per_s), format_bytes(one.memory),
                        format_number(one.work), one.sent_bytes > 0 ? format_bytes(one.sent_bytes) : "-");
    if (!one.why_it_lost.empty()) reasons += fmt::format("  {} {}\n", one.name, one.why_it_lost);
  }
  return text + reasons;
}

}  // namespace

TilePlanReport tile_plan_report(const plan::TileProblem& problem, const plan::Problem& pipeline,
                                const std::vector<plan::TilePlan>& teams,
                                const std::vector<plan::TileAlternative>& alternatives) {
  Report report;
  report.model = problem.graph.name();
  report.objective = problem.objective == plan::Objective::latency ? "latency" : "throughput";
  report.batch = problem.batch;
  const auto batch = static_cast<double>(problem.batch);
  for (const plan::TilePlan& team : teams) {
    report.teams.push_back(team_report(problem, team));
    report.latency = std::max(report.latency, team.latency);
    report.samples_per_s += team.period > 0 ? batch / team.period : 0;
  }
  for (const plan::TileAlternative& one : alternatives)
    report.comparison.push_back({.name = one.name,
                                 .why_not = one.why_not,
                                 .devices = static_cast<std::int64_t>(one.devices),
                                 .latency = one.latency,
                                 .samples_per_s = batch * one.rate,
                                 .memory = one.memory,
                                 .work = one.work,
                                 .sent_bytes = one.sent,
                                 .limited_by = one.limiting,
                                 .why_it_lost = one.why_it_lost});
  report.devices = planned_devices(pipeline);
  report.ways = planned_ways(pipeline);
  for (const plan::TileDevice& device : problem.devices) {
    const auto uses_it = [&](const Report::Team& team) {
      return std::ranges::count(team.uses, device.name, &Report::Use::device) > 0;
    };
    if (std::ranges::none_of(report.teams, uses_it)) report.unused.push_back(device.name);
  }
  return report;
}

std::string tile_plan_summary(const TilePlanReport& report) {
  return fmt::format("Plan: {} in tiles, micro-batches of {}: latency {}, {}", report.model, report.batch,
                     format_seconds(report.latency), format_rate(report.samples_per_s, "samples"));
}

std::string tile_plan_text(const TilePlanReport& report) {
  std::string text = tile_plan_summary(report) + "\n";
  for (std::size_t t = 0; t < report.teams.size(); ++t) text += team_text(report.teams[t], t + 1);
  if (!report.unused.empty()) text += "  not used: " + join_words(report.unused) + "\n";
  return text + comparison_text(report);
}

}  // namespace mangrove::cli
