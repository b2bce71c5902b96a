#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "mangrove/base/units.h"
#include "mangrove/graph/region.h"

namespace mangrove::plan {

/// A device's tile of a block.
struct TilePart {
  std::size_t device = 0;
  Region output;     // as Tiling::cost takes it; of a block that is not tiled: nothing
  Seconds busy = 0;  // predicted: computing, packing and unpacking of one micro-batch
};

/// Operators [first, last), computed in one tile on each of some devices, or whole on one device.
struct TileBlock {
  std::size_t first = 0, last = 0;
  std::vector<TilePart> parts;  // at least one, on different devices

  bool is_tiled() const { return parts.size() > 1; }
};

/// A team of devices that computes micro-batches together, one block after the other.
///
/// The device `source` has the samples: it reads them, or they are sent to it. It sends each tile of the first block
/// the region that the tile needs. Between two blocks each device sends the others what their tiles need of its own:
/// halos, if the tiles lie alike. Summands of a global average go to each device of the next block whole. Where the
/// last block is tiled, its tiles are sent to the source, which has the result then.
struct TilePlan {
  std::size_t source = 0;  // a device of the first block
  std::vector<TileBlock> blocks;
  Seconds latency = 0;        // predicted, of a micro-batch that never waits behind another: see TileClock
  Seconds period = 0;         // predicted time between two micro-batches, of as many as there may be: the busiest
                              // device's or link's time for one
  double work = 1;            // operations of all tiles, as a multiple of those of the whole network
  Bytes sent = 0;             // bytes between devices for a micro-batch
  std::vector<Bytes> memory;  // predicted memory of each device's process, by number of the problem's device; 0: not in
                              // the team. It is what the process has without operators, and for each of the
                              // device's blocks, which are all ready to compute, its weights, the values of its tile
                              // that are needed at the same time, once more its input, as it is received, and the
                              // source's whole input
  std::string limiting;       // what takes most of the latency: "computing on n1", "the way from n1 to n2"; for the
                              // throughput what takes the period: also "the link of n1"

  std::vector<std::size_t> devices() const;  // of the team, ascending
};

}  // namespace mangrove::plan
