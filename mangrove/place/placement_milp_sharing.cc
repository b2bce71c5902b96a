#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/place/placement_milp.h"

namespace mangrove::place {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

}  // namespace

void PlacementMilp::add_sharing() {
  std::map<std::string, std::map<std::uint32_t, std::vector<int>>> licensed, groups;  // columns by device
  for (std::size_t p = 0; p < spots_.size(); ++p) {
    const Task& task = problem_.task(p);
    for (const Spot& spot : spots_[p]) {
      if (is_outside(spot.device)) continue;
      if (!task.licence.empty() && !left_out_.licences) licensed[task.licence][spot.device].push_back(spot.column);
      if (!task.apart.empty() && !left_out_.apart) groups[task.apart][spot.device].push_back(spot.column);
    }
  }
  licensed_.resize(problem_.scenario().licences.size());
  for (std::size_t l = 0; l < licensed_.size(); ++l) {
    const Licence& licence = problem_.scenario().licences[l];
    Sum& devices = licensed_[l];
    for (const auto& [device, columns] : licensed[licence.name]) {
      const bool is_fixed = std::ranges::find(columns, kOne) != columns.end();
      const int has = is_fixed ? kOne : milp_.add_column(0, 1, /*is_whole=*/false);
      for (const int column : columns)
        if (!is_fixed) milp_.add_row({{column, 1}, {has, -1}}, -kUnlimited, 0);
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
  milp_.add_row(moves_.terms, -kUnlimited, most);
}

/// No device has parts of two copies of a service.
void PlacementMilp::add_copies() {
  const bool has_outside = std::ranges::any_of(problem_.scenario().devices, &Device::is_outside);
  for (std::size_t s = 0; s < problem_.scenario().services.size(); ++s) {
    if (problem_.scenario().services[s].failures == 0) continue;
    std::map<std::uint32_t, Sum> copies;  // by device: how many are there
    for (const std::vector<std::size_t>& parts : problem_.graph(s).parts) {
      std::map<std::uint32_t, std::vector<int>> columns;  // of one copy
      for (const std::size_t part : parts)
        if (!problem_.is_shared(part))
          for (const Spot& spot : spots_[part])
            if (!is_outside(spot.device)) columns[spot.device].push_back(spot.column);
      for (const auto& [device, of_device] : columns) {
        int has = of_device.front();
        if (of_device.size() > 1) {
          const bool is_fixed = std::ranges::find(of_device, kOne) != of_device.end();
          has = is_fixed ? kOne : milp_.add_column(0, 1, /*is_whole=*/false);
          for (const int column : of_device)
            if (!is_fixed) milp_.add_row({{column, 1}, {has, -1}}, -kUnlimited, 0);
        }
        copies[device].add(has, 1);
      }
    }
    for (const auto& [device, sum] : copies) add_limit(sum, 1);
    // else it matters which copy is where
    if (problem_.before().devices.empty() && !has_outside) order_copies(s);
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
      milp_.add_row(std::move(terms), 0, kUnlimited);
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

}  // namespace mangrove::place
