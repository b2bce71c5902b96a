#include "tests/engine/tiled_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "mangrove/engine/execution.h"

namespace mangrove {
namespace {

std::vector<Interval> intervals(std::int64_t size, const std::vector<double>& ends) {
  std::vector<Interval> found;
  std::int64_t begin = 0;
  for (const double share : ends) {
    const auto end = static_cast<std::int64_t>(std::lround(share * static_cast<double>(size)));
    if (end > begin) found.push_back({begin, end});
    begin = std::max(begin, end);
  }
  return found;
}

// Calls with the offsets of each row of the region in a map of this shape and in the region itself, and its length.
template <class Copy>
void for_each_row(const Shape& map, const Region& region, Copy copy) {
  const std::int64_t height = map[2], width = map[3];
  std::int64_t row_of_region = 0;
  for (std::int64_t plane = 0; plane < map[0] * map[1]; ++plane)
    for (std::int64_t row = region.top; row < region.bottom; ++row, ++row_of_region)
      copy((plane * height + row) * width + region.left, row_of_region * region.columns());
}

void place(const Tensor& tile, const Region& region, Tensor& map) {
  const float* from = tile.as<float>().data();
  float* to = map.as<float>().data();
  for_each_row(map.shape(), region, [&](std::int64_t in_map, std::int64_t in_region) {
    std::copy_n(from + in_region, region.columns(), to + in_map);
  });
}

}  // namespace

Tensor run_graph(const Graph& graph, const Tensor& input, const std::string& backend) {
  const auto program = Program::compile(graph, {.batch = input.shape()[0], .backend = backend});
  EXPECT_TRUE(program.ok()) << program.error().message;
  if (!program.ok()) return {};
  const auto execution = Execution::create(*program);
  EXPECT_TRUE(execution.ok()) << execution.error().message;
  if (!execution.ok()) return {};
  const Status set = (*execution)->set_input(graph.inputs()[0].first, input);
  EXPECT_TRUE(set.ok()) << set.error().message;
  (*execution)->forward();
  return (*execution)->output_tensor(graph.outputs()[0]);
}

Tensor region_of(const Tensor& map, const Region& region) {
  Shape shape = map.shape();
  shape[2] = region.rows();
  shape[3] = region.columns();
  Tensor part(DType::f32, shape);
  const float* from = map.as<float>().data();
  float* to = part.as<float>().data();
  for_each_row(map.shape(), region, [&](std::int64_t in_map, std::int64_t in_region) {
    std::copy_n(from + in_map, region.columns(), to + in_region);
  });
  return part;
}

std::vector<Region> parts_of(const Region& plane, const Partition& partition) {
  std::vector<Region> parts;
  for (const Interval& rows : intervals(plane.rows(), partition.rows))
    for (const Interval& columns : intervals(plane.columns(), partition.columns))
      parts.push_back({rows.begin, columns.begin, rows.end, columns.end});
  return parts;
}

Tensor run_tiles(const Graph& graph, const Tiling& tiling, std::size_t first, std::size_t last,
                 const std::vector<Region>& tiles, const Tensor& input, const std::string& backend) {
  const auto segment = std::ranges::find(tiling.segments(), last, &TileSegment::last);
  EXPECT_NE(segment, tiling.segments().end());
  Shape shape = graph.value(graph.nodes()[last - 1].outputs[0]).shape.with_batch(input.shape()[0]);
  Tensor whole(DType::f32, shape);
  for (const Region& region : tiles) {
    const auto cost = tiling.cost(first, last, region);
    const auto tile = tiling.tile(first, last, region);
    EXPECT_TRUE(cost.ok()) << cost.error().message;
    EXPECT_TRUE(tile.ok()) << tile.error().message;
    if (!cost.ok() || !tile.ok()) return {};
    EXPECT_EQ(cost->input, tile->input);
    const Tensor made = run_graph(tile->graph, region_of(input, tile->input), backend);
    if (segment->join == TileJoin::place) {
      shape[2] = region.rows();
      shape[3] = region.columns();
    }
    EXPECT_EQ(made.shape(), shape);
    if (made.shape() != shape) return {};
    if (segment->join == TileJoin::place) {
      place(made, region, whole);
    } else {
      std::ranges::transform(whole.as<float>(), made.as<float>(), whole.as<float>().begin(), std::plus<>());
    }
  }
  return whole;
}

double difference(const Tensor& expected, const Tensor& found) {
  if (expected.shape() != found.shape()) return std::numeric_limits<double>::infinity();
  double largest = 1e-30, most = 0;
  for (std::size_t i = 0; i < expected.as<float>().size(); ++i) {
    const auto a = static_cast<double>(expected.as<float>()[i]), b = static_cast<double>(found.as<float>()[i]);
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, std::abs(a));
    most = std::max(most, std::abs(a - b));
  }
  return most / largest;
}

}  // namespace mangrove
