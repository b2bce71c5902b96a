#include "mangrove/net/endpoint.h"

namespace mangrove::net {

bool Members::alive(Rank rank) const {
  const auto place = static_cast<std::size_t>(rank);
  return rank >= 0 && place < all.size() && all[place].alive;
}

RankSet Members::alive_ranks() const {
  RankSet ranks;
  for (const Member& member : all) {
    if (member.alive) ranks.push_back(member.rank);
  }
  return ranks;
}

}  // namespace mangrove::net
