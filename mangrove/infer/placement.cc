#include "mangrove/infer/placement.h"

#include <algorithm>

#include "mangrove/base/check.h"

namespace mangrove::infer {

Placement place_stages(std::size_t stages, std::span<const net::Rank> ranks) {
  MG_CHECK(!ranks.empty());
  const std::size_t used = std::min(stages, ranks.size());
  Placement placement(stages);
  for (std::size_t s = 0; s < stages; ++s) placement[s] = ranks[s * used / stages];
  return placement;
}

Placement replace_lost(Placement placement, std::span<const net::Rank> ranks) {
  MG_CHECK(!ranks.empty());
  for (net::Rank& rank : placement) {
    if (std::find(ranks.begin(), ranks.end(), rank) != ranks.end()) continue;
    rank = *std::min_element(ranks.begin(), ranks.end(), [&](net::Rank a, net::Rank b) {
      return std::count(placement.begin(), placement.end(), a) < std::count(placement.begin(), placement.end(), b);
    });
  }
  return placement;
}

}  // namespace mangrove::infer
