#pragma once

#include <optional>
#include <span>

#include "mangrove/engine/kernel.h"

namespace mangrove {

/// Whether the node adds two values of one shape, of which one is the result of the node before.
bool is_residual(const FusedNode& fused);

/// What a Clip limits its input to. A bound that is left out is the type's lowest or highest number.
struct ClipBounds {
  float low, high;
};
/// constants: as in KernelRequest. Nullopt where a bound is computed, or is no f32.
std::optional<ClipBounds> clip_bounds(const Node& node, std::span<const Tensor* const> constants);

}  // namespace mangrove
