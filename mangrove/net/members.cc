#include <algorithm>

#include "mangrove/net/endpoint.h"

namespace mangrove::net {

bool Members::alive(Rank rank) const {
  return std::ranges::any_of(all, [rank](const Member& member) { return member.rank == rank && member.alive; });
}

RankSet Members::alive_ranks() const {
  RankSet ranks;
  for (const Member& member : all) {
    if (member.alive) ranks.push_back(member.rank);
  }
  return ranks;
}

}  // namespace mangrove::net
