#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "mangrove/graph/graph.h"
#include "mangrove/graph/tile_reads.h"

namespace mangrove {

/// An operator of a graph whose values have numbers.
struct TileOperator {
  TileReads reads;
  std::vector<std::size_t> inputs;   // parallel to reads.maps
  std::vector<std::size_t> outputs;  // without those left out
};

/// A tile of neighbouring operators: which region of its output each of them makes.
struct TileBlock {
  std::size_t first = 0;  // of the graph's operators
  std::span<const TileOperator> operators;
  std::string before, behind;      // the values at its ends
  Region input = {}, output = {};  // their regions; if the last operator averages, `output` is that of its input
  std::vector<Region> made = {};   // of each operator, at least what others read; empty where nobody needs it
};

/// Fills in `input` and `made`, each region as small as possible. values: how many there are; before, behind: the
/// numbers of those at the ends.
void find_regions(std::size_t values, std::size_t before, std::size_t behind, TileBlock& block);

/// The graph of a tile: see TileGraph. errors: those of Graph::create, none if all is right.
Result<Graph> graph_of_tile(const Graph& graph, const TileBlock& block);

}  // namespace mangrove
