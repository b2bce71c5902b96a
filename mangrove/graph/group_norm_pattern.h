#pragma once

#include "mangrove/base/result.h"
#include "mangrove/graph/graph.h"

namespace mangrove {

/// Makes one GroupNormalization of what files of opset 17 have in its place, since that opset lacks the operator:
/// Reshape to [N, groups, -1], InstanceNormalization with neutral scale and bias, Reshape back, Mul by a scale and Add
/// of a bias per channel. PyTorch's exporter and lower_to_onnx write it so. Other nodes stay.
Result<Graph> recognise_group_norms(Graph graph);

}  // namespace mangrove
