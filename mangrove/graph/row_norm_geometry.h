#pragma once

#include <cstdint>

#include "mangrove/base/result.h"
#include "mangrove/graph/graph.h"

namespace mangrove {

/// A LayerNormalization, InstanceNormalization or GroupNormalization node resolved against its input: statistics are
/// taken over contiguous rows of [channels, plane] elements; element (c, i) of row r is then scaled and shifted by
/// element (r % groups) channels + c of the inputs scale and bias.
struct RowNormGeometry {
  std::int64_t rows = 1;  // negative where it is symbolic
  std::int64_t groups = 1;
  std::int64_t channels = 1;
  std::int64_t plane = 1;
  float epsilon = 1e-5f;  // added to the (biased) variance
  Shape scale;            // what scale and bias must look like
  Shape statistics;       // of LayerNormalization's outputs Mean and InvStdDev

  std::int64_t length() const { return channels * plane; }
};

/// errors: invalid_argument (rank, axis, groups), unimplemented (the batch would be normalised over).
Result<RowNormGeometry> row_norm_geometry(const Node& node, const Shape& input);

}  // namespace mangrove
