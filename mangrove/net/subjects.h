#pragma once

#include <map>
#include <string>

#include "mangrove/net/endpoint.h"

namespace mangrove::net {

/// The certificate that speaks for each rank of a job, by the URI of its subject, e.g. mangrove://node/pi.
using Subjects = std::map<Rank, std::string>;

}  // namespace mangrove::net
