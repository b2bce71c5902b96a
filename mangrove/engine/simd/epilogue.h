#pragma once

#include <optional>
#include <set>
#include <string>

#include "mangrove/engine/fused_node.h"
#include "mangrove/engine/simd/finish.h"

namespace mangrove::simd {

/// What follows a node in the same step: a residual Add, then a Relu or Clip, each of which may be missing.
struct Epilogue {
  const FusedNode* residual = nullptr;
  std::optional<Bounds> bounds = {};

  /// The value that is added, where there is a residual.
  const std::string& residual_value() const { return residual->node.inputs[1 - residual->input]; }
};

/// Nullopt where something else follows, or a bound is computed.
std::optional<Epilogue> find_epilogue(const KernelRequest& request);

/// The values of a request that have a part for each image of the batch: first input, result and residual.
std::set<std::string> image_values(const KernelRequest& request);

}  // namespace mangrove::simd
