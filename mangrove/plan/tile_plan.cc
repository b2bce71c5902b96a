#include "mangrove/plan/tile_plan.h"

#include <set>

namespace mangrove::plan {

std::vector<std::size_t> TilePlan::devices() const {
  std::set<std::size_t> all;
  for (const TileBlock& block : blocks)
    for (const TilePart& part : block.parts) all.insert(part.device);
  return {all.begin(), all.end()};
}

}  // namespace mangrove::plan
