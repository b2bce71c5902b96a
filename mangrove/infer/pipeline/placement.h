#pragma once

#include <optional>
#include <span>
#include <vector>

#include "mangrove/net/endpoint.h"

namespace mangrove::infer {

/// The ranks of the stages, one after the other.
using Placement = std::vector<net::Rank>;

/// The placement with the stages of each rank that is none of `ranks` moved to one of these that has no stage, in their
/// order. Nothing where there are too few of them.
std::optional<Placement> with_spares(Placement placement, std::span<const net::Rank> ranks);

}  // namespace mangrove::infer
