#pragma once

#include "mangrove/base/result.h"
#include "mangrove/base/units.h"
#include "mangrove/cluster/cluster.pb.h"

namespace mangrove::cluster {

constexpr Bytes kLongestNodeMessage = KiB(64);
constexpr Bytes kLongestHeartbeat = MiB(1);  // it counts bytes by peer and purpose: with 1,000 peers some 200 kB

/// Whether what a node says can be: of a length that such a message may have, with an address that others can use and
/// numbers that a device can have. What it says is stored, shown in tables and planned with.
/// errors: invalid_argument (names the field), resource_exhausted (too long).
Status check_message(const FromNode& message);

}  // namespace mangrove::cluster
