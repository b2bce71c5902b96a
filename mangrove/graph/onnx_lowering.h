#pragma once

#include <cstdint>

#include "mangrove/graph/graph.h"

namespace mangrove {

/// The opset that a graph is written in: 17, or the first that has all its operators (Mish: 18, Gelu: 20).
std::int64_t written_opset(const Graph& graph);

/// A graph's parts as written_opset has them, so that other programs understand them:
///   GroupNormalization, which is none of opset 17, becomes Reshape, InstanceNormalization, Reshape, Mul, Add, as
///   PyTorch writes it (parse_onnx makes one node of them again);
///   Cast to a 16-bit float gets a Cast to f32 behind it, which is what our values are;
///   from opset 18 on, axes of reductions are inputs, and an even Split says how many parts there are;
///   BatchNormalization and Dropout are written as inference has them, whatever training_mode says: with it ONNX asks
///   for running statistics of the batch, and drops elements of whoever runs the file; where a constant shape of an
///   Expand, ConstantOfShape or Resize has -k for k times the batch, which ONNX does not know, it is put together at
///   run time from the batch of a graph input.
GraphParts lower_to_onnx(const Graph& graph);

}  // namespace mangrove
