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
      if (!problem_.routes().is_connected(from[i].device, to[j].device)) continue;
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
    for (const auto& [part, column] : parts_on[d])
      if (problem_.is_move(part, d)) moves_.add(column, 1);
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

void PlacementMilp::add_sharing() {
  std::map<std::string, std::map<std::uint32_t, std::vector<int>>> licensed, groups;  // columns by device
  for (std::size_t p = 0; p < spots_.size(); ++p) {
    const Task& task = problem_.task(p);
    for (const Spot& spot : spots_[p]) {
      if (!task.licence.empty() && !left_out_.licences) licensed[task.licence][spot.device].push_back(spot.column);
      if (!task.apart.empty() && !left_out_.apart) groups[task.apart][spot.device].push_back(spot.column);
    }
  }
  for (const Licence& licence : problem_.scenario().licences) {
    Sum devices;
    for (const auto& [device, columns] : licensed[licence.name]) {
      const bool is_fixed = std::ranges::find(columns, kOne) != columns.end();
      const int has = is_fixed ? kOne : milp_.add_column(0, 1, /*is_whole=*/false);
      for (const int column : columns)
        if (!is_fixed) milp_.add_row({{column, 1}, {has, -1}}, -kNoLimit, 0);
      devices.add(has, 1);
    }
    if (devices.terms.size() > 0 || devices.number > 0) add_limit(devices, static_cast<double>(licence.devices));
  }
  for (const auto& [group, devices] : groups)
    for (const auto& [device, columns] : devices) {
      Sum tasks;
      for (const int column : columns) tasks.add(column, 1);
      if (columns.size() > 1) add_limit(tasks, 1);
    }
}

void PlacementMilp::add_moves() {
  double most = static_cast<double>(problem_.before().most_moves);
  if (left_out_.moves || moves_.number + static_cast<double>(moves_.terms.size()) <= most) return;
  most -= moves_.number;  // of parts that are fixed
  if (most < 0) is_infeasible_ = true;
  milp_.add_row(moves_.terms, -kNoLimit, most);
}

/// No device has parts of two copies of a service.
void PlacementMilp::add_copies() {
  for (std::size_t s = 0; s < problem_.scenario().services.size(); ++s) {
    if (problem_.scenario().services[s].failures == 0) continue;
    std::map<std::uint32_t, Sum> copies;  // by device: how many are there
    for (const std::vector<std::size_t>& parts : problem_.graph(s).parts) {
      std::map<std::uint32_t, std::vector<int>> columns;  // of one copy
      for (const std::size_t part : parts)
        if (!problem_.is_shared(part))
          for (const Spot& spot : spots_[part]) columns[spot.device].push_back(spot.column);
      for (const auto& [device, of_device] : columns) {
        int has = of_device.front();
        if (of_device.size() > 1) {
          const bool is_fixed = std::ranges::find(of_device, kOne) != of_device.end();
          has = is_fixed ? kOne : milp_.add_column(0, 1, /*is_whole=*/false);
          for (const int column : of_device)
            if (!is_fixed) milp_.add_row({{column, 1}, {has, -1}}, -kNoLimit, 0);
        }
        copies[device].add(has, 1);
      }
    }
    for (const auto& [device, sum] : copies) add_limit(sum, 1);
    if (problem_.before().devices.empty()) order_copies(s);  // else it matters which copy is where
  }
}

/// Copies of a service lie on different devices, so their first tasks can be in the order of these. Each placement has
/// one like it in this order, as long as all copies have the same candidates.
void PlacementMilp::order_copies(std::size_t s) {
  const auto& copies = problem_.graph(s).parts;
  std::size_t first = copies.front().size();
  for (std::size_t t = 0; t < copies.front().size(); ++t) {
    if (problem_.is_shared(copies.front()[t])) continue;
    first = std::min(first, t);
    for (const auto& parts : copies)
      if (!std::ranges::equal(spots_[parts[t]], spots_[copies.front()[t]], {}, &Spot::device, &Spot::device)) return;
  }
  if (spots_[copies.front()[first]].size() == 1) return;
  for (std::size_t c = 1; c < copies.size(); ++c) {
    Milp::Terms before;  // the copy before this one lies on an earlier device
    for (std::size_t i = 0; i < spots_[copies[c][first]].size(); ++i) {
      Milp::Terms terms = before;
      terms.emplace_back(spots_[copies[c][first]][i].column, -1);
      milp_.add_row(std::move(terms), 0, kNoLimit);
      before.emplace_back(spots_[copies[c - 1][first]][i].column, 1);
    }
  }
  ordered_.emplace_back(s, first);
}

Placement PlacementMilp::ordered(Placement placement) const {
  for (const auto& [s, first] : ordered_) {
    const auto& copies = problem_.graph(s).parts;
    std::vector<std::vector<std::uint32_t>> devices;
    for (const auto& parts : copies) {
      std::vector<std::uint32_t>& of_copy = devices.emplace_back();
      for (const std::size_t part : parts) of_copy.push_back(placement[part]);
    }
    std::ranges::sort(devices, {}, [task = first](const std::vector<std::uint32_t>& of_copy) { return of_copy[task]; });
    for (std::size_t c = 0; c < copies.size(); ++c)
      for (std::size_t t = 0; t < copies[c].size(); ++t) placement[copies[c][t]] = devices[c][t];
  }
  return placement;
}

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
  const int most = milp_.add_column(0, kNoLimit, /*is_whole=*/false);
  for (const Sum& sum : sums) {
    Milp::Terms terms = sum.terms;
    for (auto& term : terms) term.second /= unit;
    terms.emplace_back(most, -1);
    milp_.add_row(std::move(terms), -kNoLimit, -sum.number / unit);
  }
  return most;
}

void PlacementMilp::add_latencies() {
  if (objective_.uses(&Measures::worst_latency)) {
    worst_ = milp_.add_column(0, kNoLimit, /*is_whole=*/false);
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
        milp_.add_row(std::move(terms), -kNoLimit, -worst[t].number);
      }
    }
    means.push_back(std::move(mean_of_copy));
  }
  if (!has_mean) return;
  if (means.size() == 1) latency_.add(means.front(), 1 / services);
  if (means.size() > 1) latency_.add(max_of(means, 1), 1 / services);
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
