#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "mangrove/place/placement_milp.h"

namespace mangrove::place {
namespace {

constexpr double kEndless = std::numeric_limits<double>::infinity();

}  // namespace

PlacementMilp::Sum PlacementMilp::time_of_part(std::size_t part) const {
  Sum time;
  for (const Spot& spot : spots_[part]) time.add(spot.column, problem_.time(part, spot.device));
  return time;
}

PlacementMilp::Sum PlacementMilp::time_of_way(std::size_t flow, double bytes, bool at_worst) const {
  Routes& routes = problem_.routes();
  Sum time;
  for (const Way& way : ways_[flow])
    if (way.from != way.to)
      time.add(way.column,
               at_worst ? routes.worst_time(way.from, way.to, bytes) : routes.time(way.from, way.to, bytes));
  return time;
}

/// A column that is no less than any of the sums, over `unit`.
int PlacementMilp::max_of(const std::vector<Sum>& sums, Seconds unit) {
  const int most = milp_.add_column(0, kEndless, /*is_whole=*/false);
  for (const Sum& sum : sums) {
    Milp::Terms terms = sum.terms;
    for (auto& term : terms) term.second /= unit;
    terms.emplace_back(most, -1);
    milp_.add_row(std::move(terms), -kEndless, -sum.number / unit);
  }
  return most;
}

void PlacementMilp::add_latencies() {
  if (objective_.uses(&Measures::worst_latency)) {
    worst_ = milp_.add_column(0, kEndless, /*is_whole=*/false);
    worst_latency_.add(worst_, 1);
  }
  for (std::size_t s = 0; s < problem_.scenario().services.size(); ++s) add_service(s);
}

void PlacementMilp::add_service(std::size_t s) {
  const Service& service = problem_.scenario().services[s];
  const Problem::ServiceGraph& graph = problem_.graph(s);
  const bool has_deadline = std::isfinite(service.deadline) && !left_out_.deadlines;
  const bool has_mean = objective_.uses(&Measures::latency);
  if (!has_deadline && !has_mean && worst_ == kOne) return;
  const double services = static_cast<double>(problem_.scenario().services.size());
  std::vector<Sum> means;  // of copies
  for (const std::vector<std::size_t>& parts : graph.parts) {
    std::vector<Sum> mean(parts.size()), worst(parts.size());
    Sum mean_of_copy;
    for (const std::size_t t : graph.order) {
      std::vector<Sum> inputs, mean_inputs;
      Sum any;
      for (const std::size_t f : graph.inputs[t]) {
        const Flow& flow = service.flows[f];
        const std::size_t number = flow_numbers_.at({parts[flow.from], parts[t]});
        const auto bytes = static_cast<double>(flow.bytes);
        const Sum way = time_of_way(number, bytes, /*at_worst=*/false);
        inputs.push_back(worst[flow.from]);
        inputs.back().add(time_of_way(number, bytes, /*at_worst=*/true), 1);
        mean_inputs.push_back(mean[flow.from]);
        mean_inputs.back().add(way, 1);
        any.add(mean_inputs.back(), graph.rates.flow_weights[f]);
      }
      const Sum time = time_of_part(parts[t]);
      Seconds unit = 0;  // about what the sums come to
      for (const Sum& sum : inputs) {
        unit = std::max(unit, sum.number);
        for (const auto& [column, value] : sum.terms)
          if (std::isfinite(value)) unit = std::max(unit, value);
      }
      if (unit == 0) unit = 1;
      const auto joined = [&](std::vector<Sum>& sums) {
        Sum sum;
        if (sums.size() == 1) sum = std::move(sums.front());
        if (sums.size() > 1) sum.add(max_of(sums, unit), unit);
        sum.add(time, 1);
        return sum;
      };
      if (has_deadline || worst_ != kOne) worst[t] = joined(inputs);
      if (has_mean && service.tasks[t].wait == Wait::all) mean[t] = joined(mean_inputs);
      if (has_mean && service.tasks[t].wait == Wait::any) {
        mean[t] = any;
        mean[t].add(time, 1);
      }
      const double weight = graph.rates.sink_weights[t];
      if (weight == 0) continue;
      mean_of_copy.add(mean[t], weight);
      if (has_deadline) add_limit(worst[t], service.deadline);
      if (worst_ != kOne) {
        Milp::Terms terms = worst[t].terms;
        terms.emplace_back(worst_, -1);
        milp_.add_row(std::move(terms), -kEndless, -worst[t].number);
      }
    }
    means.push_back(std::move(mean_of_copy));
  }
  if (!has_mean) return;
  if (means.size() == 1) latency_.add(means.front(), 1 / services);
  if (means.size() > 1) latency_.add(max_of(means, 1), 1 / services);
}

}  // namespace mangrove::place
