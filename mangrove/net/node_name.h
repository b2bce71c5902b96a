#pragma once

#include <string>

#include "mangrove/net/endpoint.h"

namespace mangrove::net {

/// What messages to people call a rank: the name of its node.
std::string node_name(const Endpoint& endpoint, Rank rank);

}  // namespace mangrove::net
