#pragma once

#include <cstdint>

#include "mangrove/base/result.h"
#include "mangrove/graph/graph.h"

namespace mangrove {

/// A BatchNormalization node resolved against its input [N, C, ...]: statistics are taken per channel over the batch
/// and all dimensions after the channels.
struct BatchNormGeometry {
  std::int64_t batch = 1;  // negative where it is symbolic
  std::int64_t channels = 1;
  std::int64_t plane = 1;  // elements of one channel of one sample
  float epsilon = 1e-5f;   // added to the variance
  float momentum = 0.9f;   // of the running statistics: running = momentum running + (1 - momentum) batch's
};

/// errors: invalid_argument (no channels), unimplemented (the batch is not dimension 0).
Result<BatchNormGeometry> batch_norm_geometry(const Node& node, const Shape& input);

}  // namespace mangrove
