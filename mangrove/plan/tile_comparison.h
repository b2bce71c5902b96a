#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mangrove/plan/tiles.h"

namespace mangrove::plan {

/// A way to compute micro-batches on devices, by its predicted figures.
struct TileAlternative {
  std::string name;          // kOneBoard, kPipeline, or that of a row of tile_partitioners()
  std::string why_not = {};  // why there is no such plan, and none of the figures; "": there is one
  std::size_t devices = 0;
  Seconds latency = 0;           // of a micro-batch that never waits behind another; of several teams the longest
  double rate = 0;               // micro-batches a second; 0: they take no time
  Bytes memory = 0;              // of the process that needs most
  double work = 1;               // operations, as a multiple of those of the whole network
  Bytes sent = 0;                // between devices for a micro-batch; of several teams the mean
  std::string limiting = {};     // see TilePlan, Plan
  std::string why_it_lost = {};  // against the plan that was chosen: "takes 1.9 times as long"; "": it was chosen
};

constexpr std::string_view kOneBoard = "one board";  // the fastest one that has the memory
constexpr std::string_view kPipeline = "pipeline";   // as make_plan() plans it

/// What else could be done on the devices of `tiles`: one board, the best pipeline, and each row of
/// tile_partitioners(). That of the first row, which is given, is what was chosen. One without a plan says why not.
/// pipeline: the same network and devices; its objective and that of `tiles` are the same. REQUIRES: chosen is not
/// empty, and made for `tiles`.
std::vector<TileAlternative> tile_alternatives(const TileProblem& tiles, const Problem& pipeline,
                                               const std::vector<TilePlan>& chosen);

}  // namespace mangrove::plan
