#include "mangrove/cli/reports/plan_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "mangrove/base/format.h"
#include "mangrove/base/units.h"
#include "mangrove/cli/reports/box_picture.h"
#include "mangrove/cli/reports/html.h"
#include "mangrove/cli/reports/rate_text.h"
#include "mangrove/cli/reports/stage_picture.h"
#include "mangrove/cli/reports/tile_picture.h"

namespace mangrove::cli {
namespace {

constexpr std::size_t kMostDevices = 60;  // in the picture
constexpr std::size_t kLongestText = 200, kLongestWays = 4000;
constexpr std::size_t kMostAlternatives = 64;

std::string rate(const PlanFigures& plan) {
  return format_rate(plan.samples_per_s, "samples");
}

std::string figures(const PlanReport& report) {
  const PlanFigures& plan = report.plan;
  std::string html = "<dl>" + html_figure("samples/s", format_number(plan.samples_per_s)) +
                     html_figure("latency", format_seconds(plan.latency)) +
                     html_figure("limited by", shortened(plan.limited_by, kLongestText)) +
                     html_figure("micro-batch", format_things(report.batch, "sample")) +
                     html_figure("in flight", format_count(plan.in_flight));
  if (plan.joules_per_sample > 0) html += html_figure("energy", format_number(plan.joules_per_sample) + " J/sample");
  if (report.planning) html += html_figure("planned in", format_seconds(*report.planning));
  html += "</dl>\n";
  return plan.caveat.empty()
             ? html
             : html + "<p>Not proven to be the best: " + escaped(shortened(plan.caveat, kLongestText)) + "</p>\n";
}

/// "stage 2", or "not used"
std::string place_of(const std::string& device, const PlanFigures& plan) {
  for (std::size_t number = 0; number < plan.stages.size(); ++number)
    if (std::ranges::count(plan.stages[number].devices, device) > 0) return fmt::format("stage {}", number + 1);
  return "not used";
}

/// "team 1", or "not used"
std::string place_of(const std::string& device, const std::vector<TilePlanReport::Team>& teams) {
  for (std::size_t number = 0; number < teams.size(); ++number)
    if (std::ranges::count(teams[number].uses, device, &TilePlanReport::Use::device) > 0)
      return fmt::format("team {}", number + 1);
  return "not used";
}

/// used: the stages or teams.
std::string device_picture(const auto& report, const auto& used) {
  std::vector<Box> boxes;
  for (const PlanReport::Device& device : report.devices) {
    if (boxes.size() == kMostDevices) break;
    const std::string place = place_of(device.name, used);
    Box box{.title = shortened(device.name, kLongestText)};
    box.lines = {place};
    if (device.memory > 0) box.lines.push_back(format_bytes(device.memory) + " of memory");
    box.way = {rate_text(device.rate)};
    if (device.delay > 0) box.way.push_back(format_seconds(device.delay));
    box.style = place == "not used" ? "" : "a";
    boxes.push_back(std::move(box));
  }
  if (boxes.empty()) return {};
  std::string html = "<h2>Devices and links</h2>\n" + bus_picture("the devices and their links", "", boxes);
  std::string ways;
  for (const PlanReport::Way& way : report.ways) {
    if (way.between.size() != 2) continue;
    ways += fmt::format("{}{} to {}: {}, {}", ways.empty() ? "" : "; ", way.between[0], way.between[1],
                        rate_text(way.rate), format_seconds(way.delay));
    if (ways.size() > kLongestWays) break;
  }
  if (!ways.empty()) html += "<p class=\"legend\">" + escaped(shortened(ways, kLongestWays)) + "</p>\n";
  if (report.devices.size() > boxes.size())
    html += fmt::format("<p>and {} more devices</p>\n", report.devices.size() - boxes.size());
  return html;
}

std::string row(const char* name, const PlanFigures& plan, const std::string& change, const std::string& remark) {
  std::size_t devices = 0;
  for (const PlanFigures::Stage& stage : plan.stages) devices += stage.devices.size();
  return fmt::format(
      "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"text\">{}</td></tr>\n", name,
      rate(plan), change, escaped(format_seconds(plan.latency)), devices, plan.stages.size(),
      escaped(shortened(remark, kLongestText)));
}

std::string alternatives(const PlanReport& report) {
  const PlanFigures& best = report.plan;
  const auto other = [&](const char* name, const std::optional<PlanFigures>& plan, const std::string& remark) {
    if (!plan) return std::string();
    const double change = best.samples_per_s > 0 ? 100 * (plan->samples_per_s / best.samples_per_s - 1) : 0;
    return row(name, *plan, best.samples_per_s > 0 ? fmt::format("{:+.1f} %", change) : "", remark);
  };
  return "<h2>Other plans</h2>\n<div class=\"table\"><table><tr><th></th><th>speed</th><th>change</th><th>latency</th>"
         "<th>devices</th><th>stages</th><th></th></tr>\n" +
         row("this plan", best, "", "limited by " + best.limited_by) +
         other("runner-up", report.runner_up, report.why_it_lost) +
         other("links twice as fast", report.faster_links, "") + other("one more device", report.one_more, "") +
         "</table></div>\n";
}

std::string figures(const TilePlanReport& report) {
  std::string html = "<dl>" + html_figure("samples/s", format_number(report.samples_per_s)) +
                     html_figure("latency", format_seconds(report.latency)) +
                     html_figure("planned for", shortened(report.objective, kLongestText)) +
                     html_figure("micro-batch", format_things(report.batch, "sample")) +
                     html_figure("teams", format_count(std::ssize(report.teams)));
  if (!report.teams.empty())
    html += html_figure("limited by", shortened(report.teams.front().limited_by, kLongestText));
  if (report.planning) html += html_figure("planned in", format_seconds(*report.planning));
  return html + "</dl>\n";
}

std::string comparison(const std::vector<TilePlanReport::Alternative>& all) {
  std::string html =
      "<h2>Other plans</h2>\n<div class=\"table\"><table><tr><th></th><th>devices</th><th>latency</th><th>speed</th>"
      "<th>memory</th><th>work</th><th>sends</th><th class=\"text\"></th></tr>\n";
  for (std::size_t i = 0; i < std::min(all.size(), kMostAlternatives); ++i) {
    const TilePlanReport::Alternative& one = all[i];
    html += "<tr><td>" + escaped(shortened(one.name, kLongestText)) + "</td>";
    html += one.why_not.empty()
                ? fmt::format("<td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>", one.devices,
                              escaped(format_seconds(one.latency)), format_rate(one.samples_per_s, "samples"),
                              format_bytes(one.memory), format_number(one.work), format_bytes(one.sent_bytes))
                : "<td></td><td></td><td></td><td></td><td></td><td></td>";
    const std::string& remark = one.why_not.empty() ? one.why_it_lost : one.why_not;
    html += "<td class=\"text\">" + escaped(shortened(remark, kLongestText)) + "</td></tr>\n";
  }
  return html + "</table></div>\n";
}

}  // namespace

std::string plan_page(const PlanReport& report) {
  return html_page("A plan for " + shortened(report.model, kLongestText),
                   figures(report) + "<h2>The network over the devices</h2>\n" + stage_picture(report.plan.stages) +
                       device_picture(report, report.plan) + alternatives(report));
}

std::string plan_page(const TilePlanReport& report) {
  return html_page("A plan in tiles for " + shortened(report.model, kLongestText),
                   figures(report) + "<h2>The tiles on the devices</h2>\n" + tile_picture(report.teams) +
                       device_picture(report, report.teams) + comparison(report.comparison));
}

}  // namespace mangrove::cli
