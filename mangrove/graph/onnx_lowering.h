#pragma once

#include "mangrove/graph/graph.h"

namespace mangrove {

/// A graph's parts in operators of opset 17 alone, as other programs understand them:
///   GroupNormalization, which is none of opset 17, becomes Reshape, InstanceNormalization, Reshape, Mul, Add, as
///   PyTorch writes it (parse_onnx makes one node of them again);
///   BatchNormalization and Dropout are written as inference has them, whatever training_mode says: with it ONNX asks
///   for running statistics of the batch, and drops elements of whoever runs the file; where a constant shape of an
///   Expand, ConstantOfShape or Resize has -k for k times the batch, which ONNX does not know, it is put together at
///   run time from the batch of a graph input.
GraphParts lower_to_onnx(const Graph& graph);

}  // namespace mangrove
