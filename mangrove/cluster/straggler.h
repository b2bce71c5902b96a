#pragma once

#include <optional>
#include <span>

#include "mangrove/base/units.h"

namespace mangrove::cluster {

/// The node that holds the others up: the one that loads and computes longest on a step, if that is more than one and a
/// half times the median of the others. `compute`: seconds a step by node; 0 where it is not known. nullopt: there is
/// none, or fewer than two nodes are known.
std::optional<std::size_t> straggler(std::span<const Seconds> compute);

}  // namespace mangrove::cluster
