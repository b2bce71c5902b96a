#include "mangrove/plan/tile_division.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mangrove::plan {
namespace {

constexpr Seconds kShortestTime = 1e-12;  // of what takes no time
constexpr int kBalancingRounds = 6;

/// Where parts of [from, to) begin, and the end of the last one: in proportion to their weights, each at least 1 long.
/// REQUIRES: as many places as parts.
std::vector<std::int64_t> proportional_cuts(std::int64_t from, std::int64_t to, std::span<const double> weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::int64_t> cuts = {from};
  double before = 0;
  for (const double weight : weights) {
    before += weight;
    const auto cut = from + static_cast<std::int64_t>(std::llround(static_cast<double>(to - from) * before / sum));
    cuts.push_back(std::max(cut, cuts.back() + 1));
  }
  cuts.back() = to;
  for (std::size_t i = cuts.size() - 1; i-- > 1;) cuts[i] = std::min(cuts[i], cuts[i + 1] - 1);
  return cuts;
}

/// The time until each task's value is where it is needed.
std::vector<Seconds> durations(const TileCosts& costs, const TileStep& step, const TileSurroundings& around) {
  std::vector<Seconds> all;
  for (const TileTask& task : step.tasks) all.push_back(task.cost.seconds);
  if (around.before == nullptr) return all;
  TileRun run = *around.before;
  run.advance(step);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t device = step.tasks[i].device;
    all[i] = run.clock().done(device) - around.before->earliest();
    if (around.next_device && device != *around.next_device)
      all[i] +=
          run.clock().links().message_time(device, *around.next_device, costs.bytes(step.last, step.tasks[i].made));
  }
  return all;
}

}  // namespace

TileGrid grid_of(std::span<const std::size_t> devices, std::size_t rows) {
  TileGrid grid;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t first = devices.size() * row / rows, last = devices.size() * (row + 1) / rows;
    grid.emplace_back(devices.begin() + static_cast<std::ptrdiff_t>(first),
                      devices.begin() + static_cast<std::ptrdiff_t>(last));
  }
  return grid;
}

std::size_t devices_of(const TileGrid& grid) {
  std::size_t count = 0;
  for (const auto& row : grid) count += row.size();
  return count;
}

std::vector<TilePart> TileDivision::parts() const {
  std::vector<TilePart> parts;
  for (std::size_t r = 0; r < devices.size(); ++r)
    for (std::size_t c = 0; c < devices[r].size(); ++c)
      parts.push_back({devices[r][c], {rows[r], columns[r][c], rows[r + 1], columns[r][c + 1]}});
  return parts;
}

std::optional<TileDivision> divide(const Region& plane, const TileGrid& devices, std::span<const double> weights) {
  const auto is_too_long = [&](const auto& row) { return static_cast<std::int64_t>(row.size()) > plane.columns(); };
  if (static_cast<std::int64_t>(devices.size()) > plane.rows() || std::ranges::any_of(devices, is_too_long))
    return std::nullopt;
  TileDivision division{devices, {}, {}};
  std::vector<double> of_rows;
  for (const auto& row : devices) {
    std::vector<double> of_row;
    for (const std::size_t device : row) of_row.push_back(weights[device]);
    of_rows.push_back(std::accumulate(of_row.begin(), of_row.end(), 0.0));
    division.columns.push_back(proportional_cuts(plane.left, plane.right, of_row));
  }
  division.rows = proportional_cuts(plane.top, plane.bottom, of_rows);
  return division;
}

std::optional<DividedStep> balanced_step(TileCosts& costs, std::size_t first, std::size_t last, const TileGrid& grid,
                                         const TileSurroundings& around) {
  if (devices_of(grid) == 1) return DividedStep{whole_step(costs, first, last, grid.front().front()), {grid, {}, {}}};
  std::vector<double> weights;
  for (std::size_t d = 0; d < costs.problem().devices.size(); ++d)
    weights.push_back(1 / std::max(costs.seconds(first, last, d), kShortestTime));
  std::optional<DividedStep> best;
  Seconds least = 0;
  for (int round = 0; round < kBalancingRounds; ++round) {
    std::optional<TileDivision> division = divide(costs.plane(last - 1), grid, weights);
    if (!division) break;
    std::optional<TileStep> step = tiled_step(costs, first, last, division->parts());
    if (!step) break;
    const std::vector<Seconds> seconds = durations(costs, *step, around);
    // what a device gets through with this halo, which the next division changes little
    for (std::size_t i = 0; i < seconds.size(); ++i)
      weights[step->tasks[i].device] =
          static_cast<double>(step->tasks[i].output.area()) / std::max(seconds[i], kShortestTime);
    const Seconds longest = std::ranges::max(seconds);
    if (best && longest >= least) continue;
    least = longest;
    best = DividedStep{std::move(*step), std::move(*division)};
  }
  return best;
}

}  // namespace mangrove::plan
