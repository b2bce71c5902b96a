#pragma once

#include <optional>
#include <span>
#include <vector>

#include "mangrove/base/units.h"

namespace mangrove {

/// One link of the chain that a forward pass is: a node with what is fused into it, in execution order.
struct ChainLink {
  Seconds forward = 0;  // time of running it once more
  Bytes kept = 0;       // what its backward step needs of its own results, outputs and saved buffers
  Bytes transient = 0;  // what else exists while its backward step runs: gradients, workspace
  Bytes boundary = 0;   // outputs of links before it that it or a later link reads: what a cut in front of it keeps
};

/// Where a forward pass is cut. A cut at i keeps the boundary of link i; of every segment but the last, all else is
/// dropped after the forward pass and computed again when the backward pass gets there.
struct RecomputePlan {
  std::vector<std::size_t> cuts;  // ascending, each in [1, links)
  Seconds recomputed = 0;         // time of everything that runs twice
  Bytes peak = 0;                 // by the model below
};

/// Memory while the backward pass is in the segment [a, b): the boundaries of all cuts up to a, the kept bytes of the
/// segment, and the largest transient in it. This is the largest of it over all segments.
Bytes chain_peak(std::span<const ChainLink> links, std::span<const std::size_t> cuts);

/// The cuts that recompute least within `budget`, exact among all plans that run each link at most twice (bytes are
/// rounded up to budget / 1024). Nothing where no cuts suffice.
/// source: the dynamic programs of Beaumont et al., Optimal checkpointing for heterogeneous chains, 2019, with one
/// level of recomputation (Chen et al., Training deep nets with sublinear memory cost, 2016, with uneven segments).
/// cost: O(links^2 x 1024).
std::optional<RecomputePlan> plan_recomputation(std::span<const ChainLink> links, Bytes budget);

/// The least peak that any cuts reach.
Bytes least_peak(std::span<const ChainLink> links);

}  // namespace mangrove
