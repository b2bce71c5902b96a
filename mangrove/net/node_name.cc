#include "mangrove/net/node_name.h"

#include <algorithm>

namespace mangrove::net {

std::string node_name(const Endpoint& endpoint, Rank rank) {
  const Members members = endpoint.members();
  const auto found = std::ranges::find(members.all, rank, &Member::rank);
  return found == members.all.end() ? "rank " + std::to_string(rank) : found->name;
}

}  // namespace mangrove::net
