#include "mangrove/infer/pipeline/placement.h"

#include <algorithm>
#include <map>

namespace mangrove::infer {

std::optional<Placement> with_spares(Placement placement, std::span<const net::Rank> ranks) {
  std::vector<net::Rank> spares;
  std::ranges::copy_if(ranks, std::back_inserter(spares),
                       [&](net::Rank rank) { return std::ranges::count(placement, rank) == 0; });
  std::map<net::Rank, net::Rank> successors;
  for (net::Rank& rank : placement) {
    if (std::ranges::count(ranks, rank) > 0) continue;
    if (!successors.contains(rank)) {
      if (successors.size() == spares.size()) return std::nullopt;
      successors.emplace(rank, spares[successors.size()]);
    }
    rank = successors.at(rank);
  }
  return placement;
}

}  // namespace mangrove::infer
