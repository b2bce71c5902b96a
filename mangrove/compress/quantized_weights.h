#pragma once

#include <cstddef>
#include <span>

#include "mangrove/tensor/tensor.h"

namespace mangrove::compress {

/// Weights as bytes: w[.., c, ..] is about values[.., c, ..] * scales[c], zero points are 0.
struct QuantizedWeights {
  Tensor values;  // i8, -127..127, the shape of the weights
  Tensor scales;  // f32 [channels]
};

/// One scale for each output channel, the dimension `axis` of f32 weights, such that its largest |w| becomes 127: an
/// error of at most half a scale. Krishnamoorthi, Quantizing deep convolutional networks for efficient inference, 2018,
/// section 3.1.
///
/// bias         f32, one for each channel, or empty: a channel's scale is made as large as quantize_bias needs it.
/// input_scale  of the bytes that the weights will be multiplied with.
QuantizedWeights quantize_weights(const Tensor& weights, std::size_t axis, std::span<const float> bias,
                                  float input_scale);

/// A bias as i32 [channels] in units of input_scale * scales[c], the unit of the sums it is added to. scales are those
/// of quantize_weights with this bias. Jacob et al., Quantization and training of neural networks for efficient
/// integer-arithmetic-only inference, CVPR 2018, section 2.4.
Tensor quantize_bias(std::span<const float> bias, float input_scale, const Tensor& scales);

/// What quantize_bias divides by: input_scale * scales[c].
Tensor bias_scales(float input_scale, const Tensor& scales);

}  // namespace mangrove::compress
