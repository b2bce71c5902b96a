#pragma once

#include <map>
#include <string>

#include "mangrove/net/endpoint.h"

namespace mangrove::net {

/// Whose certificate speaks for each rank of a job: the URI of its subject, mangrove://node/pi.
using Subjects = std::map<Rank, std::string>;

}  // namespace mangrove::net
