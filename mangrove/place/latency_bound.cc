#include "mangrove/place/latency_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>

#include "mangrove/base/format.h"

namespace mangrove::place {
namespace {

constexpr Seconds kNotAtAll = std::numeric_limits<double>::infinity();

/// By device, the later of two times.
std::vector<Seconds> later_of(std::vector<Seconds> a, const std::vector<Seconds>& b) {
  for (std::size_t d = 0; d < a.size(); ++d) a[d] = std::max(a[d], b[d]);
  return a;
}

}  // namespace

LatencyBound::LatencyBound(const Problem& problem) : problem_(problem), links_of_(problem.scenario().devices.size()) {
  const std::vector<Link>& links = problem.scenario().links;
  for (std::uint32_t l = 0; l < links.size(); ++l) {
    links_of_[links[l].from].push_back(l);
    links_of_[links[l].to].push_back(l);
  }
}

std::vector<Seconds> LatencyBound::spread(std::vector<Seconds> ready, double bytes, bool at_worst) const {
  using Reached = std::pair<Seconds, std::uint32_t>;
  std::priority_queue<Reached, std::vector<Reached>, std::greater<>> next;
  for (std::uint32_t d = 0; d < ready.size(); ++d)
    if (std::isfinite(ready[d])) next.emplace(ready[d], d);
  while (!next.empty()) {
    const auto [seconds, device] = next.top();
    next.pop();
    if (seconds > ready[device]) continue;
    for (const std::uint32_t l : links_of_[device]) {
      const Link& link = problem_.scenario().links[l];
      const auto other = static_cast<std::uint32_t>(link.from == device ? link.to : link.from);
      const Seconds there = at_worst ? seconds + link.longest_delay() + bytes / link.lowest_rate()
                                     : seconds + link.delay + bytes / link.rate;
      if (there >= ready[other]) continue;
      ready[other] = there;
      next.emplace(there, other);
    }
  }
  return ready;
}

ServiceMeasures LatencyBound::least(std::size_t s) const {
  const Service& service = problem_.scenario().services[s];
  const Problem::ServiceGraph& graph = problem_.graph(s);
  const std::size_t devices = links_of_.size();
  std::vector<std::vector<Seconds>> mean(service.tasks.size()), worst(mean);  // by task and device
  ServiceMeasures least;
  for (const std::size_t t : graph.order) {
    const std::size_t part = graph.parts.front()[t];
    std::vector<Seconds> mean_in(devices, 0), worst_in(devices, 0);
    for (const std::size_t f : graph.inputs[t]) {
      const Flow& flow = service.flows[f];
      worst_in = later_of(std::move(worst_in), spread(worst[flow.from], static_cast<double>(flow.bytes), true));
      const std::vector<Seconds> comes = spread(mean[flow.from], static_cast<double>(flow.bytes), false);
      if (service.tasks[t].wait == Wait::all)
        mean_in = later_of(std::move(mean_in), comes);
      else
        for (std::size_t d = 0; d < devices; ++d) mean_in[d] += graph.rates.flow_weights[f] * comes[d];
    }
    mean[t].assign(devices, kNotAtAll);
    worst[t].assign(devices, kNotAtAll);
    for (const std::uint32_t d : *problem_.parts()[part].candidates) {
      mean[t][d] = mean_in[d] + problem_.time(part, d);
      worst[t][d] = worst_in[d] + problem_.time(part, d);
    }
    if (const double weight = graph.rates.sink_weights[t]; weight > 0) {
      least.mean_latency += weight * std::ranges::min(mean[t]);
      least.worst_latency = std::max(least.worst_latency, std::ranges::min(worst[t]));
    }
  }
  return least;
}

std::string why_late(const Problem& problem) {
  const LatencyBound bound(problem);
  for (std::size_t s = 0; s < problem.scenario().services.size(); ++s) {
    const Service& service = problem.scenario().services[s];
    if (!std::isfinite(service.deadline)) continue;
    const Seconds least = bound.least(s).worst_latency;
    if (std::isinf(least)) return fmt::format("the tasks of {} cannot reach each other", service.name);
    if (least > service.deadline * (1 + kTolerance))
      return fmt::format("{} takes at least {}, even alone on the best devices; its deadline is {}", service.name,
                         format_seconds(least), format_seconds(service.deadline));
  }
  return "";
}

}  // namespace mangrove::place
