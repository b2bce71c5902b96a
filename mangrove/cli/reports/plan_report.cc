#include "mangrove/cli/reports/plan_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "mangrove/base/format.h"

namespace mangrove::cli {
namespace {

constexpr double kBarWidth = 24;  // of a stage that is always busy

double samples_a_second(const plan::Problem& problem, const plan::Plan& plan) {
  return static_cast<double>(problem.network.batch) / plan.period;
}

std::vector<std::string> device_names(const plan::Problem& problem, const plan::Stage& stage) {
  std::vector<std::string> names;
  for (const std::size_t device : stage.devices) names.push_back(problem.devices[device].name);
  return names;
}

std::vector<std::string> unused_devices(const plan::Problem& problem, const plan::Plan& plan) {
  std::vector<bool> is_used(problem.devices.size(), false);
  for (const plan::Stage& stage : plan.stages)
    for (const std::size_t device : stage.devices) is_used[device] = true;
  std::vector<std::string> names;
  for (std::size_t d = 0; d < is_used.size(); ++d)
    if (!is_used[d]) names.push_back(problem.devices[d].name);
  return names;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

PlanFigures figures_of(const plan::Problem& problem, const plan::Plan& plan) {
  PlanFigures figures;
  figures.samples_per_s = samples_a_second(problem, plan);
  figures.period = plan.period;
  figures.latency = plan.latency;
  figures.joules_per_sample = plan.joules / static_cast<double>(problem.network.batch);
  figures.in_flight = plan.in_flight;
  figures.limited_by = plan.limiting;
  figures.is_proven_best = plan.caveat.empty();
  figures.caveat = plan.caveat;
  for (const plan::Stage& stage : plan.stages) {
    PlanFigures::Stage& told = figures.stages.emplace_back();
    told.devices = device_names(problem, stage);
    for (const std::size_t layer : stage.layers) told.layers.push_back(problem.network.layers[layer].name);
    told.busy = stage.busy;
    told.period = stage.period;
    told.utilisation = stage.utilisation;
    told.received_bytes = stage.received;
    told.sent_bytes = stage.sent;
    told.transfer = stage.transfer;
    told.memory = stage.memory;
  }
  return figures;
}

std::string speed_text(const plan::Problem& problem, const plan::Plan& plan) {
  return format_rate(samples_a_second(problem, plan), "samples");
}

std::string joules_text(const plan::Problem& problem, const plan::Plan& plan) {
  return format_number(plan.joules / static_cast<double>(problem.network.batch)) + " J/sample";
}

/// What the objective is about.
std::string score(const plan::Problem& problem, const plan::Plan& plan) {
  if (problem.objective == plan::Objective::latency) return format_seconds(plan.latency);
  if (problem.objective == plan::Objective::energy) return joules_text(problem, plan);
  return speed_text(problem, plan);
}

std::string layers_text(const plan::Problem& problem, const plan::Stage& stage) {
  const auto name = [&](std::size_t layer) { return problem.network.layers[layer].name; };
  if (stage.layers.size() == 1) return name(stage.layers.front());
  return fmt::format("{} .. {} ({})", name(stage.layers.front()), name(stage.layers.back()), stage.layers.size());
}

std::string table(const plan::Problem& problem, const plan::Plan& plan) {
  std::size_t devices_width = 7, layers_width = 6;
  for (const plan::Stage& stage : plan.stages) {
    devices_width = std::max(devices_width, listed(device_names(problem, stage)).size());
    layers_width = std::max(layers_width, layers_text(problem, stage).size());
  }
  std::string text = fmt::format("  {:<5}  {:<{}}  {:<{}}  {:>9}  {:>9}  {:>9}  {:>8}\n", "stage", "devices",
                                 devices_width, "layers", layers_width, "busy", "period", "sends", "memory");
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const plan::Stage& stage = plan.stages[s];
    text += fmt::format("  {:<5}  {:<{}}  {:<{}}  {:>9}  {:>9}  {:>9}  {:>8}\n", s + 1,
                        listed(device_names(problem, stage)), devices_width, layers_text(problem, stage), layers_width,
                        format_seconds(stage.busy), format_seconds(stage.period),
                        stage.sent > 0 ? format_bytes(stage.sent) : "-", format_bytes(stage.memory));
  }
  return text;
}

/// A bar for each stage, as long as its devices are busy, and between them what travels.
std::string picture(const plan::Plan& plan) {
  std::string text;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const plan::Stage& stage = plan.stages[s];
    const auto filled = static_cast<std::size_t>(std::lround(kBarWidth * std::min(stage.utilisation, 1.0)));
    const std::string replicas = stage.devices.size() > 1 ? fmt::format(" x {}", stage.devices.size()) : "";
    text += fmt::format("  [{:.<{}}] {:3.0f} %  stage {}{}\n", std::string(filled, '#'),
                        static_cast<std::size_t>(kBarWidth), 100 * stage.utilisation, s + 1, replicas);
    if (s + 1 < plan.stages.size())
      text += fmt::format("     | {} in {}\n", format_bytes(stage.sent), format_seconds(stage.transfer));
  }
  return text;
}

std::string change_text(const plan::Problem& problem, const plan::Plan& plan, const plan::Plan& other) {
  double change = plan.period / other.period - 1;
  if (problem.objective == plan::Objective::latency) change = other.latency / plan.latency - 1;
  if (problem.objective == plan::Objective::energy) change = other.joules / plan.joules - 1;
  return fmt::format("{} ({:+.1f} %) with {}", score(problem, other), 100 * change,
                     format_things(static_cast<std::int64_t>(other.devices()), "device"));
}

}  // namespace

std::vector<PlanReport::Device> planned_devices(const plan::Problem& problem) {
  std::vector<PlanReport::Device> devices;
  for (const plan::Device& device : problem.devices)
    devices.push_back({device.name, device.memory, device.rate, device.delay});
  return devices;
}

std::vector<PlanReport::Way> planned_ways(const plan::Problem& problem) {
  std::vector<PlanReport::Way> ways;
  for (const auto& [between, way] : problem.ways)
    ways.push_back({{problem.devices[between.first].name, problem.devices[between.second].name}, way.rate, way.delay});
  return ways;
}

PlanReport plan_report(const plan::Problem& problem, const plan::Plan& plan, const plan::Advice& advice) {
  PlanReport report;
  report.plan = figures_of(problem, plan);
  report.model = problem.network.name;
  report.batch = problem.network.batch;
  report.devices = planned_devices(problem);
  report.ways = planned_ways(problem);
  report.unused = unused_devices(problem, plan);
  if (advice.runner_up) report.runner_up = figures_of(problem, *advice.runner_up);
  report.why_it_lost = advice.why_it_lost;
  if (advice.faster_links) report.faster_links = figures_of(problem, *advice.faster_links);
  plan::Problem more = problem;  // with the device that is added, at the end
  more.devices.push_back({.name = "another " + advice.one_more_kind});
  if (advice.one_more) report.one_more = figures_of(more, *advice.one_more);
  return report;
}

std::string plan_summary(const plan::Problem& problem, const plan::Plan& plan) {
  return fmt::format("Plan: {}, micro-batches of {}: {}, latency {}, {} in flight, limited by {}", problem.network.name,
                     problem.network.batch, speed_text(problem, plan), format_seconds(plan.latency), plan.in_flight,
                     plan.limiting);
}

std::string plan_text(const plan::Problem& problem, const plan::Plan& plan, const plan::Advice& advice) {
  std::string text = plan_summary(problem, plan) + "\n";
  if (plan.joules > 0) text += "  computing takes " + joules_text(problem, plan) + "\n";
  text += table(problem, plan) + picture(plan);
  if (const auto unused = unused_devices(problem, plan); !unused.empty())
    text += fmt::format("  not used: {}\n", listed(unused));
  if (!plan.caveat.empty()) text += "  not proven to be the best: " + plan.caveat + "\n";
  if (advice.runner_up)
    text += fmt::format("Runner-up: {}\n  {}\n", change_text(problem, plan, *advice.runner_up), advice.why_it_lost);
  else if (!advice.why_it_lost.empty())
    text += "Runner-up: none; " + advice.why_it_lost + "\n";
  if (advice.faster_links) text += "Links twice as fast: " + change_text(problem, plan, *advice.faster_links) + "\n";
  return text + fmt::format("One more like {}: {}\n", advice.one_more_kind,
                            advice.one_more ? change_text(problem, plan, *advice.one_more) : "too many to plan for");
}

}  // namespace mangrove::cli
