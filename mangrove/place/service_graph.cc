#include "mangrove/place/service_graph.h"

#include <algorithm>
#include <limits>

namespace mangrove::place {

std::optional<std::vector<std::size_t>> topological_order(const Service& service) {
  const std::size_t count = service.tasks.size();
  std::vector<std::size_t> inputs(count, 0), order;
  std::vector<std::vector<std::size_t>> after(count);
  for (const Flow& flow : service.flows) {
    ++inputs[flow.to];
    after[flow.from].push_back(flow.to);
  }
  for (std::size_t t = 0; t < count; ++t)
    if (inputs[t] == 0) order.push_back(t);
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const std::size_t next : after[order[i]])
      if (--inputs[next] == 0) order.push_back(next);
  if (order.size() < count) return std::nullopt;
  return order;
}

ServiceRates rates_of(const Service& service, const std::vector<std::size_t>& order) {
  const std::size_t count = service.tasks.size();
  ServiceRates rates;
  rates.tasks.assign(count, service.rate);
  rates.flows.assign(service.flows.size(), 0);
  rates.flow_weights.assign(service.flows.size(), 0);
  rates.sink_weights.assign(count, 0);
  std::vector<std::vector<std::size_t>> inputs(count);
  std::vector<bool> is_sink(count, true);
  for (std::size_t f = 0; f < service.flows.size(); ++f) {
    inputs[service.flows[f].to].push_back(f);
    is_sink[service.flows[f].from] = false;
  }
  double all_sinks = 0;
  for (const std::size_t t : order) {
    double sum = 0, least = std::numeric_limits<double>::infinity();
    for (const std::size_t f : inputs[t]) {
      rates.flows[f] = rates.tasks[service.flows[f].from] * service.flows[f].share;
      sum += rates.flows[f];
      least = std::min(least, rates.flows[f]);
    }
    for (const std::size_t f : inputs[t]) rates.flow_weights[f] = rates.flows[f] / sum;
    if (!inputs[t].empty()) rates.tasks[t] = service.tasks[t].wait == Wait::all ? least : sum;
    if (is_sink[t]) all_sinks += rates.tasks[t];
  }
  for (std::size_t t = 0; t < count; ++t)
    if (is_sink[t]) rates.sink_weights[t] = rates.tasks[t] / all_sinks;
  return rates;
}

}  // namespace mangrove::place
