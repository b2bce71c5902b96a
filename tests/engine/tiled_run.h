#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mangrove/graph/graph.h"
#include "mangrove/graph/tile.h"

namespace mangrove {

/// The only output of a graph with one input. The test fails, and the result is empty, where it does not compile.
Tensor run_graph(const Graph& graph, const Tensor& input, const std::string& backend = "portable");

/// This region of each plane of a map.
Tensor region_of(const Tensor& map, const Region& region);

/// The plane in parts: their last rows and columns lie before these shares of it, of which the last is 1. Those with
/// nothing in them are left out.
struct Partition {
  std::vector<double> rows, columns;
};
std::vector<Region> parts_of(const Region& plane, const Partition& partition);

/// What the tiles of operators [first, last) make of `input`, the value before them, put together or added up. Where
/// something is wrong the test fails.
Tensor run_tiles(const Graph& graph, const Tiling& tiling, std::size_t first, std::size_t last,
                 const std::vector<Region>& tiles, const Tensor& input, const std::string& backend = "portable");

/// The largest difference, relative to the largest value. Infinite for another shape, or where one is no number.
double difference(const Tensor& expected, const Tensor& found);

}  // namespace mangrove
