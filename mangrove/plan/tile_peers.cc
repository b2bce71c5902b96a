#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "mangrove/plan/tile_costs.h"
#include "mangrove/plan/tile_division.h"
#include "mangrove/plan/tiles.h"

namespace mangrove::plan {
namespace {

constexpr Seconds kShortest = 1e-12;     // of what takes no time
constexpr std::size_t kFirstDevice = 0;  // it is the source, and computes what cannot be tiled

Error cannot_be_tiled(const Graph& graph, std::size_t operators) {
  return make_error(
      Code::invalid_argument,
      fmt::format("the first {} operators of network '{}' cannot be tiled on these devices", operators, graph.name()));
}

TileBlock block_on_first_device(const TileCosts& costs, std::size_t first, std::size_t last) {
  return {costs.first_operator(first), costs.first_operator(last), {{kFirstDevice, {}}}};
}

/// The most equal rows of a grid that have equally many devices, at least as many rows as columns.
std::size_t rows_of_grid(std::size_t devices) {
  std::size_t rows = 1;
  while (rows * rows < devices || devices % rows != 0) ++rows;
  return rows;
}

/// Rows of a plane in proportion to speed, for those devices that get any; the first, which is the source, always does.
std::vector<TilePart> strips(const Region& plane, const std::vector<double>& speeds) {
  const double sum = std::accumulate(speeds.begin(), speeds.end(), 0.0);
  std::vector<TilePart> parts;
  double before = 0;
  std::int64_t top = plane.top;
  for (std::size_t d = 0; d < speeds.size(); ++d) {
    before += speeds[d];
    const double share = before / sum;
    std::int64_t bottom = plane.top + std::llround(share * static_cast<double>(plane.rows()));
    if (d == kFirstDevice) bottom = std::max(bottom, plane.top + 1);
    if (d + 1 == speeds.size()) bottom = plane.bottom;
    if (bottom > top) parts.push_back({d, {top, plane.left, bottom, plane.right}});
    top = bottom;
  }
  return parts;
}

}  // namespace

Result<TilePlan> even_grid(const TileProblem& problem, std::size_t last) {
  MG_RETURN_IF_ERROR(check(problem));
  const TileCosts costs(problem);
  std::size_t end = 1;
  while (end < costs.segments() && costs.first_operator(end) < last) ++end;
  if (!costs.can_be_tiled(0, end)) return cannot_be_tiled(problem.graph, costs.first_operator(end));
  std::vector<std::size_t> devices(problem.devices.size());
  std::iota(devices.begin(), devices.end(), 0);
  const std::vector<double> equal(devices.size(), 1);
  const auto division = divide(costs.plane(end - 1), grid_of(devices, rows_of_grid(devices.size())), equal);
  if (!division) return cannot_be_tiled(problem.graph, costs.first_operator(end));
  std::vector<TileBlock> blocks = {{0, costs.first_operator(end), division->parts()}};
  if (end < costs.segments()) blocks.push_back(block_on_first_device(costs, end, costs.segments()));
  return price_tiles(problem, kFirstDevice, std::move(blocks));
}

Result<TilePlan> biased_strips(const TileProblem& problem) {
  MG_RETURN_IF_ERROR(check(problem));
  const TileCosts costs(problem);
  if (!costs.can_be_tiled(0, 1)) return cannot_be_tiled(problem.graph, costs.first_operator(1));
  std::vector<double> speeds;
  for (std::size_t d = 0; d < problem.devices.size(); ++d)
    speeds.push_back(1 / std::max(costs.seconds(0, costs.segments(), d), kShortest));
  std::vector<TileBlock> blocks;
  std::size_t end = 0;
  for (; end < costs.segments() && costs.can_be_tiled(0, end + 1); ++end)
    blocks.push_back({costs.first_operator(end), costs.first_operator(end + 1), strips(costs.plane(end), speeds)});
  if (end < costs.segments()) blocks.push_back(block_on_first_device(costs, end, costs.segments()));
  return price_tiles(problem, kFirstDevice, std::move(blocks));
}

}  // namespace mangrove::plan
