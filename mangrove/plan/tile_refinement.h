#pragma once

#include <span>
#include <vector>

#include "mangrove/plan/tile_team.h"

namespace mangrove::plan {

/// Makes a plan better by small changes, as long as one helps: boundaries between tiles are moved, blocks are
/// joined, divided, and begin earlier or later, and what is computed whole is computed on another device. Each change
/// is judged by TileRun. threads: one at a time.
class TileRefinement {
 public:
  /// costs, links: must outlive it. plan: keeps the limits of memory.
  TileRefinement(TileCosts& costs, const TileLinks& links, TileCandidate plan);

  /// To be called once.
  TileCandidate run();

 private:
  /// Puts other blocks in the place of `count` blocks, if this makes the plan better.
  bool replace(std::size_t from, std::size_t count, std::vector<DividedStep> by);
  /// The same with blocks that are balanced: of segments from, between and to the given ends, on these grids.
  bool replace(std::size_t from, std::size_t count, std::span<const std::size_t> ends, std::span<const TileGrid> grids);
  bool move_boundaries(std::size_t block);
  bool move_boundary(std::size_t first, std::size_t last, std::size_t list, std::size_t cut);
  bool change_device(std::size_t block);
  bool join(std::size_t block);
  bool shift_end(std::size_t block);
  bool divide(std::size_t block);

  TileCosts& costs_;
  TileCandidate plan_;
  std::vector<TileRun> before_;  // the micro-batch before each block
};

}  // namespace mangrove::plan
