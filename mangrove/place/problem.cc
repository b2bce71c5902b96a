#include "mangrove/place/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "mangrove/base/format.h"

namespace mangrove::place {

Problem::Problem(Scenario scenario) : scenario_(std::move(scenario)) {
  routes_ = std::make_unique<Routes>(scenario_);
  for (std::size_t s = 0; s < scenario_.services.size(); ++s) add_service(s);
  flows_of_.resize(parts_.size());
  for (std::size_t f = 0; f < flows_.size(); ++f) {
    flows_of_[flows_[f].from].push_back(f);
    flows_of_[flows_[f].to].push_back(f);
  }
  find_candidates();
}

void Problem::add_service(std::size_t number) {
  const Service& service = scenario_.services[number];
  ServiceGraph graph;
  graph.order = *topological_order(service);
  graph.rates = rates_of(service, graph.order);
  graph.inputs.resize(service.tasks.size());
  for (std::size_t f = 0; f < service.flows.size(); ++f) graph.inputs[service.flows[f].to].push_back(f);
  for (std::size_t copy = 0; copy <= static_cast<std::size_t>(service.failures); ++copy) {
    std::vector<std::size_t>& parts = graph.parts.emplace_back();
    for (std::size_t t = 0; t < service.tasks.size(); ++t) {
      if (copy > 0 && service.tasks[t].device) {
        parts.push_back(graph.parts.front()[t]);
        continue;
      }
      parts.push_back(parts_.size());
      parts_.push_back({number, t, copy, graph.rates.tasks[t], nullptr});
    }
    for (std::size_t f = 0; f < service.flows.size(); ++f) {
      const Flow& flow = service.flows[f];
      const bool is_shared = service.tasks[flow.from].device && service.tasks[flow.to].device;
      if (copy == 0 || !is_shared)
        flows_.push_back({parts[flow.from], parts[flow.to], graph.rates.flows[f], static_cast<double>(flow.bytes), f});
    }
  }
  graphs_.push_back(std::move(graph));
}

void Problem::find_candidates() {
  std::map<std::string, std::shared_ptr<const std::vector<std::uint32_t>>> known;  // by what is asked of a device
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    const Task& task = this->task(p);
    if (task.device) {
      const std::vector<std::uint32_t> only{static_cast<std::uint32_t>(*task.device)};
      parts_[p].candidates = std::make_shared<const std::vector<std::uint32_t>>(
          why_not(p, only.front()).empty() ? only : std::vector<std::uint32_t>());
      continue;
    }
    std::string asked =
        fmt::format("{}\n{}\n{}\n{}\n{}", task.operations, task.memory, task.needs, task.trust, parts_[p].rate);
    for (const std::string& zone : task.zones) asked += "\n" + zone;
    for (const auto& [kind, seconds] : task.times) asked += fmt::format("\n\n{}\n{}", kind, seconds);
    auto& candidates = known[asked];
    if (!candidates) {
      std::vector<std::uint32_t> devices;
      for (std::size_t d = 0; d < scenario_.devices.size(); ++d)
        if (why_not(p, d).empty()) devices.push_back(static_cast<std::uint32_t>(d));
      candidates = std::make_shared<const std::vector<std::uint32_t>>(std::move(devices));
    }
    parts_[p].candidates = candidates;
  }
}

bool Problem::can_go(const PartFlow& flow, std::uint32_t from, std::uint32_t to) const {
  if (!routes_->is_connected(from, to)) return false;
  const std::vector<std::string>& zones = service(flow.from).flows[flow.number].zones;
  bool stays = true;
  if (zones.empty()) return stays;
  routes_->each_link(from, to, [&](std::size_t l) {
    const Link& link = scenario_.links[l];
    stays = stays && (link.is_to_outside || std::ranges::find(zones, link.zone) != zones.end());
  });
  return stays;
}

std::vector<std::vector<std::uint32_t>> Problem::candidates() const {
  std::vector<std::vector<std::uint32_t>> candidates;
  for (const Part& part : parts_) candidates.push_back(*part.candidates);
  return candidates;
}

std::string Problem::part_name(std::size_t part) const {
  const std::string name = service(part).name + "/" + task(part).name;
  return parts_[part].copy == 0 ? name : fmt::format("{} (copy {})", name, parts_[part].copy + 1);
}

std::string Problem::why_not(std::size_t part, std::size_t number) const {
  const Task& task = this->task(part);
  const Device& device = scenario_.devices[number];
  if (task.device && *task.device != number) return "it must be on " + scenario_.devices[*task.device].name;
  if (device.is_outside) return "";
  if (!task.needs.empty() && task.needs != device.accelerator &&
      std::ranges::find(device.labels, task.needs) == device.labels.end())
    return "it needs " + task.needs;
  if (device.trust < task.trust) return fmt::format("it needs trust {}, not {}", task.trust, device.trust);
  if (!task.zones.empty() && std::ranges::find(task.zones, device.zone) == task.zones.end())
    return "it may not leave its zones";
  if (!task.times.empty() && !task.times.contains(device.kind) && !task.times.contains(device.name))
    return "it has no time for " + device.kind;
  if (device.memory > 0 && task.memory > device.memory)
    return fmt::format("it needs {} of memory, not {}", format_bytes(task.memory), format_bytes(device.memory));
  if (const double most = device.utilisation * (1 + kTolerance); peak_load(part, number) > most)
    return fmt::format("it would load it with {}, above {}", format_percent(peak_load(part, number), 0),
                       format_percent(device.utilisation, 0));
  return "";
}

}  // namespace mangrove::place
