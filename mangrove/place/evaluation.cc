#include "mangrove/place/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "mangrove/base/format.h"

namespace mangrove::place {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

class Evaluator {
 public:
  Evaluator(const Problem& problem, const Placement& placement)
      : problem_(problem), scenario_(problem.scenario()), placement_(placement) {}

  Evaluation run() {
    made_.devices.resize(scenario_.devices.size());
    made_.links.resize(scenario_.links.size(), 0);
    made_.peak_links.resize(scenario_.links.size(), 0);
    for (std::size_t p = 0; p < problem_.parts().size(); ++p) add_part(p);
    for (const PartFlow& flow : problem_.flows()) add_flow(flow);
    if (const auto most = static_cast<double>(problem_.before().most_moves); made_.measures.moves > most)
      add_violation(fmt::format("moves: {}, above {}", made_.measures.moves, most), made_.measures.moves - most);
    check_devices();
    check_links();
    check_sharing();
    for (std::size_t s = 0; s < scenario_.services.size(); ++s) add_service(s);
    made_.measures.latency /= std::max(1.0, static_cast<double>(scenario_.services.size()));
    return std::move(made_);
  }

 private:
  void add_violation(std::string what, double by) { made_.violations.push_back({std::move(what), by}); }
  void check(double value, double limit, const std::string& what, const std::string& text,
             const std::string& limit_text) {
    if (value > limit * (1 + kTolerance))
      add_violation(fmt::format("{}: {}, above {}", what, text, limit_text), value / limit - 1);
  }
  const std::string& device_name(std::size_t device) const { return scenario_.devices[device].name; }

  void add_part(std::size_t p) {
    const std::size_t d = placement_[p];
    if (const auto& fit = *problem_.parts()[p].candidates; !std::ranges::binary_search(fit, placement_[p])) {
      add_violation(
          fmt::format("{} cannot be on {}: {}", problem_.part_name(p), device_name(d), problem_.why_not(p, d)), 1);
      return;
    }
    if (problem_.is_move(p, placement_[p])) made_.measures.moves += 1;
    DeviceLoad& load = made_.devices[d];
    load.is_used = true;
    load.memory += problem_.task(p).memory;
    (problem_.is_accelerated(p, d) ? load.accelerator : load.cores) += problem_.load(p, d);
    (problem_.is_accelerated(p, d) ? load.peak_accelerator : load.peak_cores) += problem_.peak_load(p, d);
  }

  void add_flow(const PartFlow& flow) {
    const std::uint32_t from = placement_[flow.from], to = placement_[flow.to];
    if (!problem_.can_go(flow, from, to) && problem_.routes().is_connected(from, to)) {
      add_violation(
          fmt::format("what {} sends {} would leave its zones on the way from {} to {}", problem_.part_name(flow.from),
                      problem_.part_name(flow.to), device_name(from), device_name(to)),
          1);
      return;
    }
    if (!problem_.routes().is_connected(from, to)) {
      add_violation(fmt::format("{} and {} have no way to each other, from {} to {}", problem_.part_name(flow.from),
                                problem_.part_name(flow.to), device_name(from), device_name(to)),
                    1);
      return;
    }
    const double carried = flow.rate * flow.bytes;
    problem_.routes().each_link(from, to, [&](std::size_t link) {
      made_.links[link] += carried;
      made_.peak_links[link] += carried * problem_.service(flow.from).growth();
    });
  }

  void check_devices() {
    for (std::size_t d = 0; d < scenario_.devices.size(); ++d) {
      const Device& device = scenario_.devices[d];
      const DeviceLoad& load = made_.devices[d];
      if (!load.is_used || device.is_outside) continue;
      const std::string limit = format_percent(device.utilisation, 0);
      check(load.peak_cores, device.utilisation, "cores of " + device.name, format_percent(load.peak_cores, 0), limit);
      check(load.peak_accelerator, device.utilisation, device.accelerator + " of " + device.name,
            format_percent(load.peak_accelerator, 0), limit);
      if (device.memory > 0)
        check(static_cast<double>(load.memory), static_cast<double>(device.memory), "memory of " + device.name,
              format_bytes(load.memory), format_bytes(device.memory));
      made_.measures.devices += 1;
      made_.measures.cost += device.price;
      made_.measures.energy +=
          device.idle_watts + device.watts * load.cores + device.accelerator_watts * load.accelerator;
    }
  }

  void check_links() {
    for (std::size_t l = 0; l < scenario_.links.size(); ++l) {
      const Link& link = scenario_.links[l];
      const auto rate_text = [](double rate) { return format_number(rate * 8 / 1e6) + " Mbit/s"; };
      check(made_.peak_links[l], link.lowest_rate() * link.utilisation,
            "link " + device_name(link.from) + " - " + device_name(link.to), rate_text(made_.peak_links[l]),
            rate_text(link.lowest_rate() * link.utilisation));
      made_.measures.cost += made_.links[l] * kSecondsOfPrice / kBytesOfPrice * link.price;
    }
  }

  /// Licences, groups that lie apart, and copies that share no device.
  void check_sharing() {
    std::map<std::string, std::set<std::size_t>> licensed;
    std::map<std::pair<std::string, std::size_t>, std::size_t> together;             // by group and device
    std::map<std::pair<std::size_t, std::size_t>, std::set<std::size_t>> copies_on;  // by service and device
    for (std::size_t p = 0; p < problem_.parts().size(); ++p) {
      const std::size_t d = placement_[p];
      if (scenario_.devices[d].is_outside) continue;
      const Task& task = problem_.task(p);
      if (!task.licence.empty()) licensed[task.licence].insert(d);
      if (!task.apart.empty()) ++together[{task.apart, d}];
      const std::size_t s = problem_.parts()[p].service;
      if (scenario_.services[s].failures > 0 && !problem_.is_shared(p))
        copies_on[{s, d}].insert(problem_.parts()[p].copy);
    }
    for (const Licence& licence : scenario_.licences) {
      const std::size_t devices = licensed[licence.name].size();
      check(static_cast<double>(devices), static_cast<double>(licence.devices), "licence " + licence.name,
            format_things(static_cast<std::int64_t>(devices), "device"), format_count(licence.devices));
    }
    for (const auto& [place, tasks] : together)
      if (tasks > 1)
        add_violation(fmt::format("{} tasks of the group {} are on {}, but must be apart", tasks, place.first,
                                  device_name(place.second)),
                      static_cast<double>(tasks - 1));
    for (const auto& [place, copies] : copies_on)
      if (copies.size() > 1)
        add_violation(fmt::format("{} copies of {} are on {}, whose failure would end them", copies.size(),
                                  scenario_.services[place.first].name, device_name(place.second)),
                      static_cast<double>(copies.size() - 1));
  }

  void add_service(std::size_t s) {
    const Service& service = scenario_.services[s];
    ServiceMeasures& measures = made_.services.emplace_back();
    std::set<std::size_t> shared;
    double none_up = 1;  // of the copies
    for (const std::size_t part : problem_.graph(s).parts.front())
      if (problem_.is_shared(part)) shared.insert(placement_[part]);
    for (const std::vector<std::size_t>& parts : problem_.graph(s).parts) {
      add_copy(s, parts, measures);
      std::set<std::size_t> own;
      for (const std::size_t part : parts)
        if (!shared.contains(placement_[part])) own.insert(placement_[part]);
      none_up *= 1 - all_up(own);
    }
    measures.availability = all_up(shared) * (1 - none_up);
    made_.measures.latency += measures.mean_latency;
    made_.measures.worst_latency = std::max(made_.measures.worst_latency, measures.worst_latency);
    check(measures.worst_latency, service.deadline, "worst latency of " + service.name,
          format_seconds(measures.worst_latency), format_seconds(service.deadline));
  }

  double all_up(const std::set<std::size_t>& devices) const {
    double probability = 1;
    for (const std::size_t device : devices) probability *= 1 - scenario_.devices[device].failure;
    return probability;
  }

  void add_copy(std::size_t s, const std::vector<std::size_t>& parts, ServiceMeasures& measures) {
    const Service& service = scenario_.services[s];
    const Problem::ServiceGraph& graph = problem_.graph(s);
    std::vector<Seconds> mean(parts.size(), 0), worst(parts.size(), 0);
    Seconds mean_of_copy = 0;
    for (const std::size_t t : graph.order) {
      const bool takes_any = service.tasks[t].wait == Wait::any;
      for (const std::size_t f : graph.inputs[t]) {
        const std::size_t from = service.flows[f].from;
        const Seconds way =
            way_time(/*at_worst=*/false, parts[from], parts[t], static_cast<double>(service.flows[f].bytes));
        const Seconds worst_way =
            way_time(/*at_worst=*/true, parts[from], parts[t], static_cast<double>(service.flows[f].bytes));
        worst[t] = std::max(worst[t], worst[from] + worst_way);
        mean[t] = takes_any ? mean[t] + graph.rates.flow_weights[f] * (mean[from] + way)
                            : std::max(mean[t], mean[from] + way);
      }
      const std::size_t device = placement_[parts[t]];
      const bool can_run = std::ranges::binary_search(*problem_.parts()[parts[t]].candidates, placement_[parts[t]]);
      const Seconds time = can_run ? problem_.time(parts[t], device) : kNever;
      worst[t] += time;
      mean[t] += time;
      if (const double weight = graph.rates.sink_weights[t]; weight > 0) {
        mean_of_copy += weight * mean[t];
        measures.worst_latency = std::max(measures.worst_latency, worst[t]);
      }
    }
    measures.mean_latency = std::max(measures.mean_latency, mean_of_copy);
  }

  Seconds way_time(bool at_worst, std::size_t from, std::size_t to, double bytes) const {
    Routes& routes = problem_.routes();
    if (!routes.is_connected(placement_[from], placement_[to])) return kNever;
    return at_worst ? routes.worst_time(placement_[from], placement_[to], bytes)
                    : routes.time(placement_[from], placement_[to], bytes);
  }

  const Problem& problem_;
  const Scenario& scenario_;
  const Placement& placement_;
  Evaluation made_;
};

}  // namespace

Evaluation evaluate(const Problem& problem, const Placement& placement) {
  return Evaluator(problem, placement).run();
}

}  // namespace mangrove::place
