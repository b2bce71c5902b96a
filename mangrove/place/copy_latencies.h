#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "mangrove/place/problem.h"
#include "mangrove/place/scenario.h"

namespace mangrove::place {

/// What the latencies of a service are made of, in a linear program of placements that has them as sums of columns.
template <class Sum>
struct LatencyTerms {
  bool has_worst = false, has_mean = false;  // which of them the program needs
  std::function<Sum(std::size_t part)> time_of_part;
  std::function<Sum(std::size_t from, std::size_t to, double bytes, bool at_worst)> time_of_way;  // between two parts
  /// No less than any of `sums`. worst_inputs: what the same task waits for at worst, which says how large sums are.
  std::function<Sum(const std::vector<Sum>& sums, const std::vector<Sum>& worst_inputs)> largest;
  /// Is told the worst latency at the end of each copy; at each end, where it has several. With has_worst only.
  std::function<void(const Sum& worst)> at_end;
};

/// The mean latency of each copy of the service, task by task as evaluate() counts it; zero without has_mean.
template <class Sum>
std::vector<Sum> copy_latencies(const Service& service, const Problem::ServiceGraph& graph,
                                const LatencyTerms<Sum>& terms) {
  std::vector<Sum> means;
  for (const std::vector<std::size_t>& parts : graph.parts) {
    std::vector<Sum> mean(parts.size()), worst(parts.size());
    Sum mean_of_copy;
    for (const std::size_t t : graph.order) {
      std::vector<Sum> worst_inputs, mean_inputs;
      Sum any;
      for (const std::size_t f : graph.inputs[t]) {
        const Flow& flow = service.flows[f];
        const auto way = [&](bool at_worst) {
          return terms.time_of_way(parts[flow.from], parts[t], static_cast<double>(flow.bytes), at_worst);
        };
        worst_inputs.push_back(worst[flow.from]);
        worst_inputs.back().add(way(/*at_worst=*/true), 1);
        mean_inputs.push_back(mean[flow.from]);
        mean_inputs.back().add(way(/*at_worst=*/false), 1);
        any.add(mean_inputs.back(), graph.rates.flow_weights[f]);
      }
      const Sum time = terms.time_of_part(parts[t]);
      if (terms.has_worst) {
        worst[t] = terms.largest(worst_inputs, worst_inputs);
        worst[t].add(time, 1);
      }
      if (terms.has_mean) {
        mean[t] = service.tasks[t].wait == Wait::any ? any : terms.largest(mean_inputs, worst_inputs);
        mean[t].add(time, 1);
      }
      const double weight = graph.rates.sink_weights[t];
      if (weight == 0) continue;
      mean_of_copy.add(mean[t], weight);
      if (terms.has_worst) terms.at_end(worst[t]);
    }
    means.push_back(std::move(mean_of_copy));
  }
  return means;
}

}  // namespace mangrove::place
