#include "mangrove/plan/tile_refinement.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace mangrove::plan {
namespace {

constexpr double kWorthwhile = 1e-9;  // of a time: less is rounding
constexpr int kMostRounds = 20;

}  // namespace

TileRefinement::TileRefinement(TileCosts& costs, const TileLinks& links, TileCandidate plan)
    : costs_(costs), plan_(std::move(plan)) {
  before_.emplace_back(costs, links, plan_.source);
  for (const DividedStep& step : plan_.steps) {
    before_.push_back(before_.back());
    before_.back().advance(step.step);
  }
}

TileCandidate TileRefinement::run() {
  bool has_changed = true;
  for (int round = 0; has_changed && round < kMostRounds; ++round) {
    has_changed = false;
    for (std::size_t block = 0; block < plan_.steps.size(); ++block)
      has_changed = move_boundaries(block) || has_changed;
    for (std::size_t block = 0; block < plan_.steps.size(); ++block)
      has_changed = join(block) || shift_end(block) || divide(block) || change_device(block) || has_changed;
  }
  return std::move(plan_);
}

bool TileRefinement::replace(std::size_t from, std::size_t count, std::vector<DividedStep> by) {
  const auto is_source = [&](const TileTask& task) { return task.device == plan_.source; };
  if (from == 0 && std::ranges::none_of(by.front().step.tasks, is_source)) return false;
  const Objective objective = costs_.problem().objective;
  std::vector<TileRun> runs = {before_[from]};
  const auto advance = [&](const DividedStep& step) {
    runs.push_back(runs.back());
    runs.back().advance(step.step);
  };
  for (const DividedStep& step : by) advance(step);
  for (std::size_t b = from + count; b < plan_.steps.size(); ++b) {
    advance(plan_.steps[b]);
    // from here on both plans are the same
    const bool is_later = runs.back().clock().is_nowhere_sooner(before_[b + 1].clock());
    if (objective == Objective::latency && is_later) return false;
  }
  TileRun end = runs.back();
  end.finish();
  const TileScore score = score_of(end, objective);
  if (end.memory_share() > 1 || score.first >= plan_.score.first * (1 - kWorthwhile)) return false;
  plan_.score = score;
  const auto at = [&](auto& list) { return list.begin() + static_cast<std::ptrdiff_t>(from); };
  plan_.steps.erase(at(plan_.steps), at(plan_.steps) + static_cast<std::ptrdiff_t>(count));
  plan_.steps.insert(at(plan_.steps), std::make_move_iterator(by.begin()), std::make_move_iterator(by.end()));
  before_.erase(at(before_), before_.end());
  before_.insert(before_.end(), std::make_move_iterator(runs.begin()), std::make_move_iterator(runs.end()));
  return true;
}

bool TileRefinement::replace(std::size_t from, std::size_t count, std::span<const std::size_t> ends,
                             std::span<const TileGrid> grids) {
  std::vector<DividedStep> by;
  TileRun run = before_[from];
  for (std::size_t i = 0; i < grids.size(); ++i) {
    if (devices_of(grids[i]) > 1 && !costs_.can_be_tiled(ends[i], ends[i + 1])) return false;
    std::optional<DividedStep> step = balanced_step(costs_, ends[i], ends[i + 1], grids[i], {&run});
    if (!step) return false;
    run.advance(step->step);
    by.push_back(std::move(*step));
  }
  return replace(from, count, std::move(by));
}

bool TileRefinement::move_boundaries(std::size_t block) {
  // alone, and with those of all blocks in a row that have the same devices
  const auto have_same_devices = [&](std::size_t a, std::size_t b) {
    return plan_.steps[a].division.devices == plan_.steps[b].division.devices;
  };
  std::size_t end = block + 1;
  if (block == 0 || !have_same_devices(block - 1, block))
    while (end < plan_.steps.size() && have_same_devices(block, end)) ++end;
  bool has_moved = false;
  for (const std::size_t last : std::set{block + 1, end}) {
    const TileDivision division = plan_.steps[block].division;
    for (std::size_t list = 0; list <= division.columns.size(); ++list) {
      const std::size_t cuts = list == 0 ? division.rows.size() : division.columns[list - 1].size();
      for (std::size_t cut = 1; cut + 1 < cuts; ++cut) has_moved = move_boundary(block, last, list, cut) || has_moved;
    }
  }
  return has_moved;
}

/// In blocks [first, last), in proportion to their planes.
bool TileRefinement::move_boundary(std::size_t first, std::size_t last, std::size_t list, std::size_t cut) {
  const auto move = [&](std::int64_t by) {
    std::vector<DividedStep> moved;
    double of_first = 0;
    for (std::size_t block = first; block < last; ++block) {
      const TileStep& step = plan_.steps[block].step;
      TileDivision division = plan_.steps[block].division;
      auto& cuts = list == 0 ? division.rows : division.columns[list - 1];
      const auto size = static_cast<double>(cuts.back() - cuts.front());
      if (block == first) of_first = size;
      cuts[cut] += std::llround(static_cast<double>(by) * size / of_first);
      if (cuts[cut] <= cuts[cut - 1] || cuts[cut] >= cuts[cut + 1]) return false;
      std::optional<TileStep> tiles = tiled_step(costs_, step.first, step.last, division.parts());
      if (!tiles) return false;
      moved.push_back({std::move(*tiles), std::move(division)});
    }
    return replace(first, last - first, std::move(moved));
  };
  bool has_moved = false;
  for (const std::int64_t by : {8, -8, 4, -4, 2, -2, 1, -1})
    while (move(by)) has_moved = true;
  return has_moved;
}

/// Of a block that is not tiled.
bool TileRefinement::change_device(std::size_t block) {
  const TileStep& step = plan_.steps[block].step;
  if (step.is_tiled()) return false;
  const std::size_t ends[] = {step.first, step.last};
  std::set<std::size_t> others;
  for (const DividedStep& other : plan_.steps)
    for (const TileTask& task : other.step.tasks) others.insert(task.device);
  return std::ranges::any_of(others, [&](std::size_t device) {
    const TileGrid grid = {{device}};
    return replace(block, 1, ends, {&grid, 1});
  });
}

bool TileRefinement::join(std::size_t block) {
  if (block + 1 >= plan_.steps.size()) return false;
  const DividedStep &one = plan_.steps[block], &next = plan_.steps[block + 1];
  const std::size_t ends[] = {one.step.first, next.step.last};
  const TileGrid grids[] = {one.division.devices, next.division.devices};
  return replace(block, 2, ends, std::span(grids).first(1)) || replace(block, 2, ends, std::span(grids).last(1));
}

bool TileRefinement::shift_end(std::size_t block) {
  if (block + 1 >= plan_.steps.size()) return false;
  const DividedStep &one = plan_.steps[block], &next = plan_.steps[block + 1];
  const TileGrid grids[] = {one.division.devices, next.division.devices};
  const std::size_t ends[] = {one.step.first, one.step.last, next.step.last};
  for (const std::size_t end : {ends[1] - 1, ends[1] + 1}) {
    const std::size_t shifted[] = {ends[0], end, ends[2]};
    if (end > ends[0] && end < ends[2] && replace(block, 2, shifted, grids)) return true;
  }
  return false;
}

bool TileRefinement::divide(std::size_t block) {
  const DividedStep& one = plan_.steps[block];
  const auto [first, last] = std::pair(one.step.first, one.step.last);
  const TileGrid grids[] = {one.division.devices, one.division.devices};
  for (std::size_t middle = first + 1; one.step.is_tiled() && middle < last; ++middle) {
    const std::size_t ends[] = {first, middle, last};
    if (replace(block, 1, ends, grids)) return true;
  }
  return false;
}

}  // namespace mangrove::plan
