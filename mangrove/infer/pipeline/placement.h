#pragma once

#include <optional>
#include <span>
#include <vector>

#include "mangrove/net/endpoint.h"

namespace mangrove::infer {

/// The ranks of the stages, one for each stage in order.
using Placement = std::vector<net::Rank>;

/// A placement in which the stages of ranks that are not in `ranks` move to ranks of `ranks` without a stage, in their
/// order. Nothing: there are too few of them.
std::optional<Placement> with_spares(Placement placement, std::span<const net::Rank> ranks);

}  // namespace mangrove::infer
