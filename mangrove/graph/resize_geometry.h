#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/graph/graph.h"

namespace mangrove {

/// A Resize node resolved against its input: the result is the product of one interpolation along each dimension.
struct ResizeGeometry {
  /// An element of the result along one dimension: the weighted sum of these of the data. None: the extrapolation
  /// value. Nearest: one tap of weight 1.
  struct Tap {
    std::int64_t index;
    double weight;
  };
  using Taps = std::vector<Tap>;

  Shape output;                         // symbolic as the input
  std::vector<std::vector<Taps>> taps;  // taps[axis][i] of element i; empty for a symbolic batch
  double extrapolation_value = 0;
  bool is_nearest = true;
};

/// constants: the node's inputs: roi (1), scales (2) or sizes (3), each null where left out or no constant. A symbolic
/// batch must keep its size: scale 1, or -1 in sizes, which keeps a dimension.
/// source: the definition of Resize in ONNX opsets 11 and 13, and its reference implementation.
/// errors: invalid_argument, unimplemented; the message says what and shows the shape.
Result<ResizeGeometry> resize_geometry(const Node& node, const Shape& input, std::span<const Tensor* const> constants);

}  // namespace mangrove
