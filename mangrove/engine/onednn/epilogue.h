#pragma once

#include <optional>

#include "mangrove/engine/onednn/activation.h"
#include "mangrove/engine/onednn/primitive_step.h"

namespace mangrove::onednn {

/// What oneDNN computes on a convolution's or product's sums before it stores them: + residual, then the activation;
/// each may be missing.
struct Epilogue {
  const FusedNode* residual = nullptr;  // an Add of two values of one shape
  const FusedNode* activation = nullptr;
};

/// Nullopt where the request's epilogue is anything else.
std::optional<Epilogue> find_epilogue(const KernelRequest& request);

/// Whether an epilogue is one that a product takes along: an activation at most.
bool fuses_activation(const KernelRequest& request);
/// The same for a convolution, which takes a residual too in inference (backward needs the sum without it).
bool fuses_residual_and_activation(const KernelRequest& request);

/// user_scratchpad() with the request's epilogue computed on the primitive's result.
dnnl::primitive_attr attributes_with_epilogue(const KernelRequest& request);

/// The step of a primitive with a residual, whose operand `dst` lies as `desc`: the primitive adds to what is there, so
/// the residual is put there first, unless it lies there already.
Step onto_residual(Step step, std::size_t dst, const Desc& desc, const KernelRequest& request);

}  // namespace mangrove::onednn
