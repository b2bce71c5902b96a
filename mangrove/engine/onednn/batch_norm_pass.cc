#include "mangrove/engine/onednn/batch_norm_pass.h"

#include <limits>

namespace mangrove::onednn {

/// The bounds of a Relu or Clip that leaves the zeros in the padding of a layout as they are; nullopt for another node.
std::optional<Bounds> bounds_of(const FusedNode& fused) {
  const auto activation = find_activation(fused.node, fused.constants);
  if (!activation) return std::nullopt;
  if (fused.node.op == "Relu") return Bounds{0, std::numeric_limits<float>::infinity()};
  if (fused.node.op != "Clip" || activation->alpha > 0 || activation->beta < 0) return std::nullopt;
  return Bounds{activation->alpha, activation->beta};
}

BatchNorm::BatchNorm(const KernelRequest& request)
    : geometry(batch_norm_geometry(request.node, request.inputs[0].shape).value()),
      x(input_value(request, 0)),
      scale(input_value(request, 1)),
      bias(input_value(request, 2)),
      running_mean(input_value(request, 3)),
      running_variance(input_value(request, 4)),
      y(output_value(request)),
      desc(desc_of(request.layouts[0], x.plain)),
      groups(channel_groups(desc).value()),
      threads(request.threads),
      node(request.node.name) {
  const Epilogue epilogue = find_epilogue(request).value();
  if (const FusedNode* add = epilogue.residual) {
    has_residual = true;
    wants_residual = add->wants_gradient[1 - add->input];
    residual_value = {add->node.inputs[1 - add->input], x.plain};
  }
  if (epilogue.activation != nullptr) activation = bounds_of(*epilogue.activation);
}

}  // namespace mangrove::onednn
