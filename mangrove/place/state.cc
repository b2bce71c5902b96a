#include "mangrove/place/state.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

namespace mangrove::place {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

double above(double value, double limit) {
  return value > limit * (1 + kTolerance) ? value / limit - 1 : 0;
}

}  // namespace

State::State(const Problem& problem, const Objective& objective)
    : problem_(problem),
      objective_(objective),
      placement_(problem.parts().size(), kNowhere),
      used_(problem.scenario().devices.size()),
      links_(problem.scenario().links.size(), 0),
      latencies_(problem.scenario().services.size()),
      licensed_(problem.scenario().licences.size(), 0) {
  std::map<std::string, std::size_t> licences, groups;
  for (const Licence& licence : problem.scenario().licences) licences.emplace(licence.name, licences.size());
  for (std::size_t p = 0; p < placement_.size(); ++p) {
    const Task& task = problem.task(p);
    licence_of_.push_back(task.licence.empty() ? kNone : licences.at(task.licence));
    group_of_.push_back(task.apart.empty() ? kNone : groups.emplace(task.apart, groups.size()).first->second);
  }
}

double State::device_excess(std::uint32_t d) const {
  const Device& device = problem_.scenario().devices[d];
  const Use& use = used_[d];
  return above(use.cores, device.utilisation) + above(use.accelerator, device.utilisation) +
         (device.memory > 0 ? above(use.memory, static_cast<double>(device.memory)) : 0);
}

double State::link_excess(std::size_t l) const {
  const Link& link = problem_.scenario().links[l];
  return above(links_[l], link.lowest_rate() * link.utilisation);
}

int State::count(std::uint64_t a, std::uint64_t b, std::uint32_t device, int by) {
  const std::uint64_t key = (a << 40) | (b << 20) | device;  // services, tasks and devices are fewer than 2^20
  const auto found = counts_.try_emplace(key, 0).first;
  const int now = found->second += by;
  if (now == 0) counts_.erase(found);
  return now;
}

/// Licences, groups that lie apart, and copies that share no device.
void State::change_sharing(std::size_t part, std::uint32_t device, int sign) {
  enum Kind : std::uint64_t { kLicence, kGroup, kCopy };
  // A count that has become 1 by adding, or 0 by taking away, is of something new there, or gone.
  const auto is_turn = [sign](int now) { return sign > 0 ? now == 1 : now == 0; };
  if (const std::size_t l = licence_of_[part]; l != kNone && is_turn(count(kLicence, l, device, sign))) {
    const auto limit = static_cast<double>(problem_.scenario().licences[l].devices);
    excess_ -= above(static_cast<double>(licensed_[l]), limit);
    licensed_[l] += sign;
    excess_ += above(static_cast<double>(licensed_[l]), limit);
  }
  if (const std::size_t g = group_of_[part]; g != kNone)
    if (!is_turn(count(kGroup, g, device, sign))) excess_ += sign;
  const std::size_t s = problem_.parts()[part].service;
  if (problem_.service(part).failures == 0 || problem_.is_shared(part)) return;
  const std::uint64_t copy = kCopy + 1 + problem_.parts()[part].copy;
  if (!is_turn(count(copy, s, device, sign))) return;
  if (!is_turn(count(kCopy, s, device, sign))) excess_ += sign;
}

void State::change_flow(const PartFlow& flow, double sign) {
  const std::uint32_t from = placement_[flow.from], to = placement_[flow.to];
  if (from == kNowhere || to == kNowhere || from == to) return;
  if (!problem_.can_go(flow, from, to)) {
    unconnected_ += sign;
    return;
  }
  const double carried = sign * flow.rate * flow.bytes;
  if (carried == 0) return;
  const double growth = problem_.service(flow.from).growth();
  carried_price_ += carried * kSecondsOfPrice * problem_.routes().price(from, to);
  problem_.routes().each_link(from, to, [&](std::size_t link) {
    excess_ -= link_excess(link);
    links_[link] += carried * growth;
    excess_ += link_excess(link);
  });
}

void State::change(std::size_t part, std::uint32_t device, double sign) {
  const Device& there = problem_.scenario().devices[device];
  Use& use = used_[device];
  excess_ -= device_excess(device);
  const bool was_used = use.parts > 0;
  const double load = sign * problem_.load(part, device);
  const bool is_accelerated = problem_.is_accelerated(part, device);
  (is_accelerated ? use.accelerator : use.cores) += sign * problem_.peak_load(part, device);
  watts_ += load * (is_accelerated ? there.accelerator_watts : there.watts);
  use.memory += sign * static_cast<double>(problem_.task(part).memory);
  use.parts = sign > 0 ? use.parts + 1 : use.parts - 1;
  if (use.parts == 0) use = {};
  if (was_used != (use.parts > 0)) {
    price_ += sign * there.price;
    watts_ += sign * there.idle_watts;
    devices_ += sign;
  }
  if (problem_.is_move(part, device)) moves_ += sign;
  excess_ += device_excess(device);
  change_sharing(part, device, sign > 0 ? 1 : -1);
}

void State::put(std::size_t part, std::uint32_t device) {
  if (placement_[part] == device) return;
  for (const std::size_t f : problem_.flows_of(part)) change_flow(problem_.flows()[f], -1);
  if (placement_[part] != kNowhere) change(part, placement_[part], -1);
  placement_[part] = device;
  if (device != kNowhere) change(part, device, 1);
  for (const std::size_t f : problem_.flows_of(part)) change_flow(problem_.flows()[f], 1);
  update_latency(problem_.parts()[part].service);
}

void State::update_latency(std::size_t s) {
  const Service& service = problem_.scenario().services[s];
  const Problem::ServiceGraph& graph = problem_.graph(s);
  Latency& now = latencies_[s];
  deadline_excess_ -= above(now.worst, service.deadline);
  mean_sum_ -= now.mean;
  now = {};
  mean_.resize(std::max(mean_.size(), service.tasks.size()));
  worst_.resize(mean_.size());
  for (const std::vector<std::size_t>& parts : graph.parts) {
    Seconds mean_of_copy = 0;
    for (const std::size_t t : graph.order) {
      Seconds mean = 0, worst = 0;
      const std::uint32_t device = placement_[parts[t]];
      for (const std::size_t f : graph.inputs[t]) {
        const Flow& flow = service.flows[f];
        const std::uint32_t before = placement_[parts[flow.from]];
        Seconds way = 0, worst_way = 0;
        if (before != kNowhere && device != kNowhere && problem_.routes().is_connected(before, device)) {
          way = problem_.routes().time(before, device, static_cast<double>(flow.bytes));
          worst_way = problem_.routes().worst_time(before, device, static_cast<double>(flow.bytes));
        }
        worst = std::max(worst, worst_[flow.from] + worst_way);
        mean = service.tasks[t].wait == Wait::any ? mean + graph.rates.flow_weights[f] * (mean_[flow.from] + way)
                                                  : std::max(mean, mean_[flow.from] + way);
      }
      const Seconds time = device == kNowhere ? 0 : problem_.time(parts[t], device);
      worst_[t] = worst + time;
      mean_[t] = mean + time;
      if (const double weight = graph.rates.sink_weights[t]; weight > 0) {
        mean_of_copy += weight * mean_[t];
        now.worst = std::max(now.worst, worst_[t]);
      }
    }
    now.mean = std::max(now.mean, mean_of_copy);
  }
  deadline_excess_ += above(now.worst, service.deadline);
  mean_sum_ += now.mean;
}

double State::excess() const {
  const double too_many = std::max(0.0, moves_ - static_cast<double>(problem_.before().most_moves));
  const double sum = excess_ + deadline_excess_ + unconnected_ + too_many;
  return sum < kTolerance / 100 ? 0 : sum;  // what is left of rounding
}

double State::value(std::size_t level) const {
  Measures measures;
  measures.cost = price_ + carried_price_;
  measures.latency = mean_sum_ / std::max(1.0, static_cast<double>(latencies_.size()));
  measures.energy = watts_;
  measures.devices = devices_;
  measures.moves = moves_;
  if (objective_.uses(&Measures::worst_latency))
    for (const Latency& latency : latencies_) measures.worst_latency = std::max(measures.worst_latency, latency.worst);
  return value_of(objective_.levels[level], measures);
}

std::vector<double> State::values() const {
  std::vector<double> values;
  for (std::size_t level = 0; level < objective_.levels.size(); ++level) values.push_back(value(level));
  return values;
}

}  // namespace mangrove::place
