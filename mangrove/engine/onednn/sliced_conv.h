#pragma once

#include <vector>

#include "mangrove/engine/onednn/primitive_step.h"

namespace mangrove::onednn {

/// Lets the step of a convolution's primitive, with these arguments, run on slices of the batch. `forward`: the
/// primitive whose hint a backward one was made with; null for a forward one itself.
/// Gradients of weights and bias are added up over the slices.
void allow_slices(Step& step, const dnnl::primitive_desc_base& primitive,
                  const dnnl::convolution_forward::primitive_desc* forward, const std::vector<Argument>& arguments,
                  int threads);

}  // namespace mangrove::onednn
