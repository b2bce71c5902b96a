#pragma once

#include <string>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/base/units.h"
#include "mangrove/cluster/cluster.pb.h"

namespace mangrove::cluster {

constexpr Bytes kLongestNodeMessage = KiB(64);
constexpr Bytes kLongestHeartbeat = MiB(1);  // it counts bytes by peer and purpose: about 200 kB for 1,000 peers
constexpr int kMostCores = 4096;

/// Checks what a node says: the length of the message, an address that others can use, and numbers that a device can
/// have. The coordinator stores these values, shows them in tables and plans with them.
/// errors: invalid_argument (names the field), resource_exhausted (too long).
Status check_message(const FromNode& message);

/// Checks the labels of a node, or those that a job asks for. errors: invalid_argument (names the label).
Status check_labels(const std::vector<std::string>& labels);

}  // namespace mangrove::cluster
