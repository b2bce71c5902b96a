#include "mangrove/place/placement_milp.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "mangrove/base/check.h"

namespace mangrove::place {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();
constexpr double kWithin = 1 + kTolerance;

}  // namespace

void PlacementMilp::Sum::add(const Sum& other, double factor) {
  for (const auto& [column, value] : other.terms) terms.emplace_back(column, factor * value);
  number += factor * other.number;
}

void PlacementMilp::Sum::add(int column, double factor) {
  if (column == kOne)
    number += factor;
  else
    terms.emplace_back(column, factor);
}

double PlacementMilp::size_of(const Problem& problem, const std::vector<std::vector<std::uint32_t>>& candidates) {
  double columns = 0;
  for (const auto& devices : candidates) columns += static_cast<double>(devices.size());
  for (const PartFlow& flow : problem.flows())
    columns += static_cast<double>(candidates[flow.from].size()) * static_cast<double>(candidates[flow.to].size());
  return columns;
}

PlacementMilp::PlacementMilp(const Problem& problem, const Objective& objective,
                             std::vector<std::vector<std::uint32_t>> candidates, const LeftOut& left_out)
    : problem_(problem), objective_(objective), left_out_(left_out), candidates_(std::move(candidates)) {
  if (!left_out.deadlines) windows_.emplace(problem, candidates_);
  for (const auto& devices : candidates_) is_infeasible_ = is_infeasible_ || devices.empty();
  if (is_infeasible_) return;
  add_spots();
  ways_.resize(problem.flows().size());
  for (std::size_t f = 0; f < problem.flows().size(); ++f) {
    flow_numbers_[{problem.flows()[f].from, problem.flows()[f].to}] = f;
    add_ways(f);
  }
  add_devices();
  add_links();
  add_sharing();
  add_moves();
  if (!left_out.failures) add_copies();
  add_latencies();
  for (const Objective::Level& level : objective.levels) {
    Sum& sum = levels_.emplace_back();
    for (const Objective::Term& term : level) sum.add(measure(*term.measure), term.weight);
  }
}

void PlacementMilp::add_spots() {
  for (const auto& devices : candidates_) {
    std::vector<Spot>& spots = spots_.emplace_back();
    if (devices.size() == 1) {
      spots.push_back({devices.front(), kOne});
      continue;
    }
    Milp::Terms one;
    for (const std::uint32_t device : devices) {
      spots.push_back({device, milp_.add_column(0, 1, /*is_whole=*/true)});
      one.emplace_back(spots.back().column, 1);
    }
    milp_.add_row(std::move(one), 1, 1);
  }
}

void PlacementMilp::add_ways(std::size_t f) {
  const PartFlow& flow = problem_.flows()[f];
  const std::vector<Spot>&from = spots_[flow.from], &to = spots_[flow.to];
  const Service& service = problem_.service(flow.from);
  // what copies have in common has other times in each of them
  const bool has_window = windows_ && std::isfinite(service.deadline) && service.failures == 0;
  std::vector<Milp::Terms> leaves(from.size()), comes(to.size());
  for (std::size_t i = 0; i < from.size(); ++i)
    for (std::size_t j = 0; j < to.size(); ++j) {
      const bool can_go = left_out_.zones ? problem_.routes().is_connected(from[i].device, to[j].device)
                                          : problem_.can_go(flow, from[i].device, to[j].device);
      if (!can_go) continue;
      if (has_window && !windows_->allows(flow, i, j)) continue;
      int column = kOne;  // of two parts that are fixed
      if (from.size() > 1 && to.size() > 1)
        column = milp_.add_column(0, 1, /*is_whole=*/false);
      else if (from.size() > 1 || to.size() > 1)
        column = from.size() > 1 ? from[i].column : to[j].column;
      ways_[f].push_back({from[i].device, to[j].device, column});
      leaves[i].emplace_back(column, 1);
      comes[j].emplace_back(column, 1);
    }
  if (from.size() == 1 && to.size() == 1) {
    if (ways_[f].empty()) is_infeasible_ = true;
    return;
  }
  const auto tie = [&](const std::vector<Spot>& spots, std::vector<Milp::Terms>& sums, bool has_way_columns) {
    for (std::size_t i = 0; i < spots.size(); ++i) {
      if (spots[i].column == kOne) continue;
      if (sums[i].empty()) {
        milp_.add_row({{spots[i].column, 1}}, 0, 0);  // there is no way from here
      } else if (has_way_columns) {
        sums[i].emplace_back(spots[i].column, -1);
        milp_.add_row(std::move(sums[i]), 0, 0);
      }
    }
  };
  const bool has_way_columns = from.size() > 1 && to.size() > 1;
  tie(from, leaves, has_way_columns);
  tie(to, comes, has_way_columns);
}

void PlacementMilp::add_limit(const Sum& sum, double limit) {
  if (sum.terms.empty()) {
    is_infeasible_ = is_infeasible_ || sum.number > limit * kWithin;
    return;
  }
  Milp::Terms terms = sum.terms;
  for (auto& term : terms) term.second /= limit;
  milp_.add_row(std::move(terms), -kNoLimit, 1 - sum.number / limit);
}

/// load <= limit, or where the device may be unused <= limit * used.
void PlacementMilp::add_capacity(const Sum& load, double limit, int used) {
  double most = load.number;
  for (const auto& [column, value] : load.terms) most += value;
  if (most <= limit && used == kOne) return;  // it always holds
  if (used == kOne || load.terms.empty()) return add_limit(load, limit);
  if (load.terms.size() == 1) return;  // the part fits, and is at most `used`
  Milp::Terms terms = load.terms;
  for (auto& term : terms) term.second /= limit;
  terms.emplace_back(used, -std::min(1.0, most / limit));
  milp_.add_row(std::move(terms), -kNoLimit, 0);
}

void PlacementMilp::add_devices() {
  const std::size_t count = problem_.scenario().devices.size();
  std::vector<std::vector<std::pair<std::size_t, int>>> parts_on(count);  // part and column
  for (std::size_t p = 0; p < spots_.size(); ++p)
    for (const Spot& spot : spots_[p]) parts_on[spot.device].emplace_back(p, spot.column);
  const bool has_prices =
      objective_.uses(&Measures::cost) || objective_.uses(&Measures::energy) || objective_.uses(&Measures::devices);
  for (std::uint32_t d = 0; d < count; ++d) {
    if (parts_on[d].empty()) continue;
    const Device& device = problem_.scenario().devices[d];
    Sum cores, accelerator, memory;
    int used = kOne;
    for (const auto& [part, column] : parts_on[d])
      if (problem_.is_move(part, d)) moves_.add(column, 1);
    if (device.is_outside) continue;
    const bool is_fixed = std::ranges::any_of(parts_on[d], [](const auto& part) { return part.second == kOne; });
    if (has_prices && !is_fixed) used_[d] = used = milp_.add_column(0, 1, /*is_whole=*/true);
    for (const auto& [part, column] : parts_on[d]) {
      const bool is_accelerated = problem_.is_accelerated(part, d);
      const double load = problem_.load(part, d);
      (is_accelerated ? accelerator : cores).add(column, problem_.peak_load(part, d));
      memory.add(column, static_cast<double>(problem_.task(part).memory));
      energy_.add(column, load * (is_accelerated ? device.accelerator_watts : device.watts));
      if (used != kOne) milp_.add_row({{column, 1}, {used, -1}}, -kNoLimit, 0);
    }
    cost_.add(used, device.price);
    energy_.add(used, device.idle_watts);
    devices_.add(used, 1);
    if (!left_out_.cores) {
      add_capacity(cores, device.utilisation, used);
      add_capacity(accelerator, device.utilisation, used);
    }
    if (!left_out_.memory && device.memory > 0) add_capacity(memory, static_cast<double>(device.memory), used);
  }
}

void PlacementMilp::add_links() {
  const std::vector<Link>& links = problem_.scenario().links;
  Routes& routes = problem_.routes();
  std::vector<double> most(links.size(), 0);  // that could come to it
  std::vector<std::size_t> seen(links.size(), 0);
  const auto growth_of = [&](std::size_t f) { return problem_.service(problem_.flows()[f].from).growth(); };
  const auto is_tight = [&](std::size_t link) {
    return most[link] > links[link].lowest_rate() * links[link].utilisation;
  };
  for (std::size_t f = 0; f < ways_.size(); ++f) {
    const double carried = problem_.flows()[f].rate * problem_.flows()[f].bytes;
    for (const Way& way : ways_[f]) {
      if (way.from == way.to || carried == 0) continue;
      cost_.add(way.column, carried * kSecondsOfPrice * routes.price(way.from, way.to));
      routes.each_link(way.from, way.to, [&](std::size_t link) {
        if (seen[link] != f + 1) most[link] += carried * growth_of(f);  // a flow takes one way
        seen[link] = f + 1;
      });
    }
  }
  if (left_out_.links) return;
  std::map<std::size_t, Sum> loads;
  for (std::size_t f = 0; f < ways_.size(); ++f)
    for (const Way& way : ways_[f])
      routes.each_link(way.from, way.to, [&](std::size_t link) {
        if (is_tight(link))
          loads[link].add(way.column, problem_.flows()[f].rate * problem_.flows()[f].bytes * growth_of(f));
      });
  for (const auto& [link, load] : loads) add_limit(load, links[link].lowest_rate() * links[link].utilisation);
}

const PlacementMilp::Sum& PlacementMilp::measure(const MeasureRow& row) const {
  if (row.value == &Measures::cost) return cost_;
  if (row.value == &Measures::latency) return latency_;
  if (row.value == &Measures::worst_latency) return worst_latency_;
  if (row.value == &Measures::energy) return energy_;
  if (row.value == &Measures::devices) return devices_;
  MG_CHECK(row.value == &Measures::moves);
  return moves_;
}

void PlacementMilp::limit(std::size_t level, double most) {
  const Sum& sum = levels_[level];
  if (sum.terms.empty()) return;
  const double scale = std::max(std::abs(most), 1e-9);
  Milp::Terms terms = sum.terms;
  for (auto& term : terms) term.second /= scale;
  milp_.add_row(std::move(terms), -kNoLimit, (most - sum.number) / scale);
}

PlacementMilp::Result PlacementMilp::solve(std::size_t level, double scale, const Placement& given,
                                           const Milp::Limits& limits) {
  constexpr double kAbout = 1000;  // that the objective comes to, so that CBC's tolerances fit
  const Sum& sum = levels_[level];
  const double factor = scale > 0 && std::isfinite(scale) ? kAbout / scale : 1;
  Milp::Terms costs = sum.terms;
  for (auto& cost : costs) cost.second *= factor;
  milp_.set_costs(costs);
  Milp::Terms start_values;
  if (!given.empty()) {
    const Placement start = ordered(given);
    std::set<std::uint32_t> on(start.begin(), start.end());
    for (std::size_t p = 0; p < spots_.size(); ++p)
      for (const Spot& spot : spots_[p])
        if (spot.column != kOne) start_values.emplace_back(spot.column, spot.device == start[p] ? 1 : 0);
    for (const auto& [device, column] : used_) start_values.emplace_back(column, on.contains(device) ? 1 : 0);
  }
  Milp::Solution solution{Milp::Outcome::optimal, {}, 0, 0};
  const bool is_all_fixed = milp_.columns() == 0;
  if (!is_all_fixed) solution = milp_.solve(start_values, limits);
  Result result{solution.outcome, {}, solution.bound / factor + sum.number};
  if (solution.values.empty() && !is_all_fixed) return result;
  for (const std::vector<Spot>& spots : spots_) {
    const auto value = [&](const Spot& spot) {
      return spot.column == kOne ? 1.0 : solution.values[static_cast<std::size_t>(spot.column)];
    };
    result.placement.push_back(std::ranges::max_element(spots, {}, value)->device);
  }
  return result;
}

}  // namespace mangrove::place
