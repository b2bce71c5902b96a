#include "mangrove/plan/sum_search.h"

#include <algorithm>
#include <limits>

namespace mangrove::plan {
namespace {

constexpr double kDeviceShare = 1e-12;  // of all costs, that one more device must save

/// What a second of computing costs.
double weight(const Device& device, Objective objective) {
  return objective == Objective::energy ? device.watts : 1;
}

std::vector<double> least_costs(const Problem& problem, const std::vector<std::vector<std::size_t>>& kinds) {
  std::vector<double> least(problem.network.layers.size(), std::numeric_limits<double>::infinity());
  for (const auto& kind : kinds) {
    const Device& device = problem.devices[kind.front()];
    for (std::size_t i = 0; i < least.size(); ++i)
      least[i] = std::min(least[i], device.seconds[i] * weight(device, problem.objective));
  }
  return least;
}

}  // namespace

SumSearch::SumSearch(const Problem& problem, const std::vector<std::vector<std::size_t>>& kinds,
                     const StageCosts& costs, const DeviceRange& range)
    : problem_(problem), kinds_(kinds), costs_(costs), range_(range) {
  for (std::size_t kind = 0; kind < kinds.size(); ++kind)
    singles_.push_back({{{kind, 1}}, 1, costs.counts().stride(kind)});
  const std::vector<double> least = least_costs(problem, kinds);
  least_ = costs.cuts().sums(std::span<const double>(least));
}

std::size_t SumSearch::key(std::size_t state, std::size_t kind, std::size_t cut) const {
  return (cut * kinds_.size() + kind) * costs_.counts().states() + state;
}

/// Of a stage on a device of the kind, and of sending what it makes to the next one.
double SumSearch::stage_cost(std::size_t kind, std::size_t first, const Row& behind) const {
  const double busy = costs_.busy(kind, first, behind.cut) * weight(costs_.device(kind), problem_.objective);
  const double cost = busy + kDeviceShare * least_.back();
  if (problem_.objective == Objective::energy || behind.devices == 0) return cost;
  return cost +
         transfer_seconds(problem_, kinds_[kind].front(), kinds_[behind.kind].back(), costs_.cuts().bytes(behind.cut));
}

SumSearch::Found SumSearch::find() {
  rows_.push_back({0, 0, 0, costs_.cuts().last(), 0, 0});
  queue_.push({least_.back(), 0});
  while (!queue_.empty() && steps_ < kMostSteps && rows_.size() < kMostRows) {
    const std::size_t position = queue_.top().row;
    if (rows_[position].cut == 0) return {parts(position)};
    queue_.pop();
    prepend(position);
  }
  const bool is_all = queue_.empty();
  for (; !queue_.empty(); queue_.pop())
    if (rows_[queue_.top().row].cut == 0) return {parts(queue_.top().row), false};
  return {{}, is_all};
}

/// Every stage in front of a row.
void SumSearch::prepend(std::size_t position) {
  const Row row = rows_[position];
  if (row.devices >= range_.most) return;
  if (row.devices > 0 && best_.at(key(row.state, row.kind, row.cut)) < row.cost) return;  // a better one was found
  const Counts& counts = costs_.counts();
  for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
    if (counts.of(row.state, kind) == counts.size(kind)) continue;
    for (std::size_t cut = row.devices + 1 < range_.least ? 1 : 0; cut < row.cut; ++cut) {
      ++steps_;
      if (!costs_.cuts().within(cut, row.cut) || !costs_.fits(singles_[kind], cut, row.cut, row.devices)) continue;
      const std::size_t state = row.state + counts.stride(kind);
      const double cost = row.cost + stage_cost(kind, cut, row);
      const auto [known, is_new] = best_.emplace(key(state, kind, cut), cost);
      if (!is_new && known->second <= cost) continue;
      known->second = cost;
      queue_.push({cost + least_[cut], rows_.size()});
      rows_.push_back({state, row.devices + 1, kind, cut, cost, position});
    }
  }
}

std::vector<Part> SumSearch::parts(std::size_t position) const {
  std::vector<std::size_t> used(kinds_.size(), 0);
  std::vector<Part> all;
  for (Row row = rows_[position]; row.devices > 0; row = rows_[row.next])
    all.push_back({costs_.cuts().layers(row.cut, rows_[row.next].cut), {kinds_[row.kind][used[row.kind]++]}});
  return all;
}

}  // namespace mangrove::plan
