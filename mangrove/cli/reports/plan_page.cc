#include "mangrove/cli/reports/plan_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "mangrove/base/format.h"
#include "mangrove/base/units.h"
#include "mangrove/cli/reports/box_picture.h"
#include "mangrove/cli/reports/html.h"
#include "mangrove/cli/reports/json_values.h"
#include "mangrove/cli/reports/rate_text.h"
#include "mangrove/cli/reports/stage_picture.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kMostDevices = 60;  // in the picture

std::string rate(const json& plan) {
  return format_rate(number_or_0(plan, "samples_per_s"), "samples");
}

std::string figures(const json& plan) {
  std::string html = "<dl>" + html_figure("samples/s", format_number(number_or_0(plan, "samples_per_s"))) +
                     html_figure("latency", format_seconds(number_or_0(plan, "latency_s"))) +
                     html_figure("limited by", text_at(plan, "limited_by")) +
                     html_figure("micro-batch", format_things(whole_at(plan, "batch"), "sample")) +
                     html_figure("in flight", format_count(whole_at(plan, "in_flight")));
  if (const double joules = number_or_0(plan, "joules_per_sample"); joules > 0)
    html += html_figure("energy", format_number(joules) + " J/sample");
  if (plan.contains("planning_s")) html += html_figure("planned in", format_seconds(number_or_0(plan, "planning_s")));
  html += "</dl>\n";
  const std::string caveat = text_at(plan, "caveat");
  return caveat.empty() ? html : html + "<p>Not proven to be the best: " + escaped(caveat) + "</p>\n";
}

/// "stage 2", or "not used"
std::string place_of(const std::string& device, const json& plan) {
  std::size_t number = 0;
  for (const json& stage : array_at(plan, "stages")) {
    ++number;
    for (const json& name : array_at(stage, "devices"))
      if (name == json(device)) return fmt::format("stage {}", number);
  }
  return "not used";
}

std::string device_picture(const json& plan) {
  std::vector<Box> boxes;
  const json& devices = array_at(plan, "devices");
  for (const json& device : devices) {
    if (boxes.size() == kMostDevices) break;
    const std::string name = text_at(device, "name"), place = place_of(name, plan);
    Box box{.title = name};
    box.lines = {place};
    if (const Bytes memory = whole_at(device, "memory"); memory > 0)
      box.lines.push_back(format_bytes(memory) + " of memory");
    box.way = {rate_text(number_or_0(device, "rate"))};
    if (const double delay = number_or_0(device, "delay_s"); delay > 0) box.way.push_back(format_seconds(delay));
    box.style = place == "not used" ? "" : "a";
    boxes.push_back(std::move(box));
  }
  if (boxes.empty()) return {};
  std::string html = "<h2>Devices and links</h2>\n" + bus_picture("the devices and their links", "", boxes);
  std::string ways;
  for (const json& way : array_at(plan, "ways")) {
    const json& between = array_at(way, "between");
    if (between.size() != 2 || !between[0].is_string() || !between[1].is_string()) continue;
    ways += fmt::format("{}{} to {}: {}, {}", ways.empty() ? "" : "; ", between[0].get<std::string>(),
                        between[1].get<std::string>(), rate_text(number_or_0(way, "rate")),
                        format_seconds(number_or_0(way, "delay_s")));
    if (ways.size() > 4000) break;
  }
  if (!ways.empty()) html += "<p class=\"legend\">" + escaped(shortened(ways, 4000)) + "</p>\n";
  if (devices.size() > boxes.size()) html += fmt::format("<p>and {} more devices</p>\n", devices.size() - boxes.size());
  return html;
}

std::size_t devices_of(const json& plan) {
  std::size_t count = 0;
  for (const json& stage : array_at(plan, "stages")) count += array_at(stage, "devices").size();
  return count;
}

std::string row(const char* name, const json& plan, const json& best, const std::string& remark) {
  if (plan.empty()) return {};
  const double speed = number_or_0(plan, "samples_per_s"), before = number_or_0(best, "samples_per_s");
  const std::string change = &plan != &best && before > 0 ? fmt::format("{:+.1f} %", 100 * (speed / before - 1)) : "";
  return fmt::format(
      "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"text\">{}</td></tr>\n", name,
      rate(plan), change, format_seconds(number_or_0(plan, "latency_s")), devices_of(plan),
      array_at(plan, "stages").size(), escaped(remark));
}

std::string alternatives(const json& plan) {
  return "<h2>Other plans</h2>\n<div class=\"table\"><table><tr><th></th><th>speed</th><th>change</th><th>latency</th>"
         "<th>devices</th><th>stages</th><th></th></tr>\n" +
         row("this plan", plan, plan, "limited by " + text_at(plan, "limited_by")) +
         row("runner-up", object_at(plan, "runner_up"), plan, text_at(plan, "why_it_lost")) +
         row("links twice as fast", object_at(plan, "faster_links"), plan, "") +
         row("one more device", object_at(plan, "one_more"), plan, "") + "</table></div>\n";
}

}  // namespace

bool is_plan(const json& object) {
  return object.contains("stages") && object.contains("period_s") && object.contains("in_flight");
}

std::string plan_page(const json& plan) {
  return html_page("A plan for " + text_at(plan, "model"), figures(plan) + "<h2>The network over the devices</h2>\n" +
                                                               stage_picture(array_at(plan, "stages")) +
                                                               device_picture(plan) + alternatives(plan));
}

}  // namespace mangrove::cli
