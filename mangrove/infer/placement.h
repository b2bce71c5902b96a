#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mangrove/net/endpoint.h"

namespace mangrove::infer {

/// The rank of each stage.
using Placement = std::vector<net::Rank>;

/// Stages on the first ranks, one each; if there are fewer ranks than stages, neighbouring stages share a rank. `ranks`
/// is not empty.
Placement place_stages(std::size_t stages, std::span<const net::Rank> ranks);

/// The placement with every stage that is on none of `ranks` moved: to the rank with the fewest stages, the first of
/// equals, so to one without a stage where there is one. `ranks` is not empty.
Placement replace_lost(Placement placement, std::span<const net::Rank> ranks);

}  // namespace mangrove::infer
