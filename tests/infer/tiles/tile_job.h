#pragma once

#include <cstdint>
#include <string>

#include "tests/infer/inference_job.h"

namespace mangrove::infer {

/// A network of 28x28 images whose maps can be divided to the end: convolutions, one of stride 2, a residual, pooling
/// and a global average, then one fully connected layer.
Graph tiled_network();

/// Classifies the first `samples` test glyphs with it, in tiles by this partitioner.
InferJob tiles_job(std::int64_t samples, const std::string& tiling);

}  // namespace mangrove::infer
