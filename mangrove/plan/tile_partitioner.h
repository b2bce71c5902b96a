#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "mangrove/plan/tiles.h"

namespace mangrove::plan {

/// A row of the table in tile_partitioner.cc: one way to divide a network into tiles. Each sees the same measurements.
struct TilePartitioner {
  std::string_view name;
  std::string_view summary;
  /// The teams of devices, each with its blocks. errors: those of plan_tiles.
  Result<std::vector<TilePlan>> (*plan)(const TileProblem& problem) = nullptr;
};

/// The table. The first row is the one that is used unless a job or a person wants another.
std::span<const TilePartitioner> tile_partitioners();
/// errors: not_found (an unknown partitioner; names the nearest known one).
Result<const TilePartitioner*> find_tile_partitioner(std::string_view name);

}  // namespace mangrove::plan
