#pragma once

#include "mangrove/engine/onednn/blocked_layout.h"
#include "mangrove/graph/graph.h"

namespace mangrove::onednn {

/// What decides how long a convolution takes, in oneDNN's terms: weights [O, I, h, w], or [G, O/G, I/G, h, w] with
/// groups; dilations count the gaps.
struct ConvShape {
  Dims src, weights, dst, strides, dilations, pads_begin, pads_end;
};

/// Of a Conv node, or a QLinearConv, with these shapes, which have been checked.
ConvShape conv_shape(const Node& node, const Shape& input, const Shape& weights);

enum class ConvAlgorithm {
  direct,        // every product of the definition
  winograd,      // fewer products, on transformed tiles; rounds otherwise (about 1e-6 of the largest value)
  batch_inside,  // the direct one on images that lie [H, W, N, C]: one tile holds pixels of many images
};

/// The algorithm that is expected to be the fastest in inference. A model with thresholds measured on processors with
/// AVX-512; it measures nothing itself, so that the same network gives the same bits wherever it runs.
ConvAlgorithm expected_fastest(const ConvShape& conv);

}  // namespace mangrove::onednn
