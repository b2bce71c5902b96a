#include "mangrove/compress/quantized_weights.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace mangrove::compress {
namespace {

constexpr double kMostWeight = 127;
constexpr double kMostBias = 1 << 30;  // half of what i32 holds: the other half is for the sum of products
constexpr double kLeastScale = std::numeric_limits<float>::min();

}  // namespace

QuantizedWeights quantize_weights(const Tensor& weights, std::size_t axis, std::span<const float> bias,
                                  float input_scale) {
  const Shape& shape = weights.shape();
  const auto channels = static_cast<std::size_t>(shape[axis]);
  const auto inner = static_cast<std::size_t>(shape.elements(axis + 1, shape.rank()));
  const std::span<const float> elements = weights.as<float>();
  std::vector<double> largest(channels, 0);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    double& most = largest[i / inner % channels];
    most = std::max(most, std::abs(static_cast<double>(elements[i])));
  }
  QuantizedWeights result{Tensor(DType::i8, shape), Tensor(DType::f32, Shape{shape[axis]})};
  const std::span<float> scales = result.scales.as<float>();
  for (std::size_t c = 0; c < channels; ++c) {
    // the weights of a dead channel may be next to nothing beside its bias
    const double for_bias = bias.empty() ? 0 : std::abs(static_cast<double>(bias[c])) / (input_scale * kMostBias);
    const double scale = std::max(largest[c] / kMostWeight, for_bias);
    scales[c] = static_cast<float>(scale < kLeastScale ? 1 : scale);
  }
  const std::span<std::int8_t> values = result.values.as<std::int8_t>();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const double rounded = std::nearbyint(static_cast<double>(elements[i]) / scales[i / inner % channels]);
    values[i] = static_cast<std::int8_t>(std::clamp(rounded, -kMostWeight, kMostWeight));
  }
  return result;
}

Tensor bias_scales(float input_scale, const Tensor& scales) {
  Tensor result(DType::f32, scales.shape());
  std::ranges::transform(scales.as<float>(), result.as<float>().begin(), [&](float scale) {
    return static_cast<float>(std::max(static_cast<double>(input_scale) * scale, kLeastScale));
  });
  return result;
}

Tensor quantize_bias(std::span<const float> bias, float input_scale, const Tensor& scales) {
  const Tensor units = bias_scales(input_scale, scales);
  Tensor result(DType::i32, scales.shape());
  for (std::size_t c = 0; c < bias.size(); ++c) {
    const double rounded = std::nearbyint(static_cast<double>(bias[c]) / units.as<float>()[c]);
    constexpr double kMost = std::numeric_limits<std::int32_t>::max();
    result.as<std::int32_t>()[c] = static_cast<std::int32_t>(std::clamp(rounded, -kMost, kMost));
  }
  return result;
}

}  // namespace mangrove::compress
