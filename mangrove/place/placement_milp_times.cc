#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "mangrove/place/copy_latencies.h"
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

/// About what these sums come to; 1 where nobody knows.
Seconds PlacementMilp::unit_of(const std::vector<Sum>& sums) {
  Seconds unit = 0;
  for (const Sum& sum : sums) {
    unit = std::max(unit, sum.number);
    for (const auto& [column, value] : sum.terms)
      if (std::isfinite(value)) unit = std::max(unit, value);
  }
  return unit == 0 ? 1 : unit;
}

PlacementMilp::Sum PlacementMilp::largest(const std::vector<Sum>& sums, Seconds unit) {
  if (sums.size() == 1) return sums.front();
  Sum sum;
  if (sums.size() > 1) sum.add(max_of(sums, unit), unit);
  return sum;
}

void PlacementMilp::add_service(std::size_t s) {
  const Service& service = problem_.scenario().services[s];
  const bool has_deadline = std::isfinite(service.deadline) && !left_out_.deadlines;
  const bool has_mean = objective_.uses(&Measures::latency);
  if (!has_deadline && !has_mean && worst_ == kOne) return;
  const auto at_end = [&](const Sum& worst) {
    if (has_deadline) add_limit(worst, service.deadline);
    if (worst_ == kOne) return;
    Milp::Terms terms = worst.terms;
    terms.emplace_back(worst_, -1);
    milp_.add_row(std::move(terms), -kEndless, -worst.number);
  };
  const std::vector<Sum> means =
      copy_latencies<Sum>(service, problem_.graph(s),
                          {.has_worst = has_deadline || worst_ != kOne,
                           .has_mean = has_mean,
                           .time_of_part = [&](std::size_t part) { return time_of_part(part); },
                           .time_of_way =
                               [&](std::size_t from, std::size_t to, double bytes, bool at_worst) {
                                 return time_of_way(flow_numbers_.at({from, to}), bytes, at_worst);
                               },
                           .largest = [&](const std::vector<Sum>& sums,
                                          const std::vector<Sum>& inputs) { return largest(sums, unit_of(inputs)); },
                           .at_end = at_end});
  if (has_mean) latency_.add(largest(means, 1), 1 / static_cast<double>(problem_.scenario().services.size()));
}

}  // namespace mangrove::place
