#pragma once

#include <span>
#include <vector>

#include "mangrove/plan/problem.h"

namespace mangrove::plan {

/// The most kinds of devices that are distinguished. With more kinds, there are too many ways to choose among them.
constexpr std::size_t kMostKinds = 12;

/// Makes devices equal in everything but their names. Each layer gets the mean of its times on the devices. For memory
/// and rates, all get the least of their values; for delays, overhead and watts, the largest. REQUIRES: devices of one
/// network.
void make_equal(std::span<Device> devices);

/// Measurements of equal devices differ a little. Devices become equal (see make_equal) if two things differ by at most
/// `tolerance`: the times of their layers, relative to the time of all layers on the slower device; and their memory.
/// If more than kMostKinds kinds are left, or more than kMostStates choices among them, the tolerance is doubled until
/// there are fewer. tolerance: above 0.
void make_alike(std::vector<Device>& devices, double tolerance);

}  // namespace mangrove::plan
