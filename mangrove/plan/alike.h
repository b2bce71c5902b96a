#pragma once

#include <span>
#include <vector>

#include "mangrove/plan/problem.h"

namespace mangrove::plan {

/// Devices of more kinds are not told apart one by one: there are too many ways to choose among them.
constexpr std::size_t kMostKinds = 12;

/// Makes devices equal in all but their names. Each layer takes the mean of their times. Of all else each has as much
/// as the one that has least: memory, rates; or as the one that needs most: delays, overhead, watts.
/// REQUIRES: devices of one network.
void make_equal(std::span<Device> devices);

/// What is measured of like devices differs a little; that does not make another kind of each. Devices become equal
/// (see make_equal) where the times of their layers are apart by at most `tolerance` of what all layers take the slower
/// one, and their memory by as much. Where more than kMostKinds kinds are left, or more than kMostStates choices among
/// them, the tolerance is doubled until there are fewer. tolerance: above 0.
void make_alike(std::vector<Device>& devices, double tolerance);

}  // namespace mangrove::plan
