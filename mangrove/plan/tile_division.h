#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mangrove/plan/tile_run.h"

namespace mangrove::plan {

/// Devices as rows of a grid, from the top; in each row from the left. Rows may be of different length.
using TileGrid = std::vector<std::vector<std::size_t>>;

/// A grid of so many rows, about equally long, of devices in this order.
TileGrid grid_of(std::span<const std::size_t> devices, std::size_t rows);
std::size_t devices_of(const TileGrid& grid);

/// A plane, divided into rows and these into tiles, one for each device of a grid.
struct TileDivision {
  TileGrid devices;
  std::vector<std::int64_t> rows;                  // where rows begin, and the end of the last one
  std::vector<std::vector<std::int64_t>> columns;  // of each row: where its tiles begin, and the end of the last one

  std::vector<TilePart> parts() const;
};

/// weights: of each device of the problem; its tile's share of the plane is about in proportion. Each tile has at least
/// one row and one column. Nothing: the plane is too small.
std::optional<TileDivision> divide(const Region& plane, const TileGrid& devices, std::span<const double> weights);

/// A block with the division that its tiles come from; a block of one device: no division but a grid of that device.
struct DividedStep {
  TileStep step;
  TileDivision division;
};

/// What a block stands between.
struct TileSurroundings {
  const TileRun* before = nullptr;              // the micro-batch before the block; null: all devices begin together
  std::optional<std::size_t> next_device = {};  // the device that needs all of the block's value; none: not known
};

/// The block in tiles that are ready at about the same time, with halos, and with the messages that the surroundings
/// make necessary. A grid of one device: the whole block. Nothing: it cannot be computed by these devices together.
/// REQUIRES: one device, or can_be_tiled(first, last).
std::optional<DividedStep> balanced_step(TileCosts& costs, std::size_t first, std::size_t last, const TileGrid& grid,
                                         const TileSurroundings& around = {});

}  // namespace mangrove::plan
