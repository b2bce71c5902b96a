#include <algorithm>
#include <array>
#include <string>

#include "mangrove/zoo/family.h"
#include "mangrove/zoo/layers.h"

namespace mangrove::zoo {
namespace {

struct ConvNextSize {
  const char* name;
  std::array<int, 4> depths;
  std::int64_t width;  // of the first stage; it doubles from stage to stage
};

// section 3.1 of the paper
constexpr ConvNextSize kConvNextSizes[] = {
    {"t", {3, 3, 9, 3}, 96}, {"s", {3, 3, 27, 3}, 96}, {"b", {3, 3, 27, 3}, 128}};
constexpr float kConvNextEpsilon = 1e-6f;
constexpr float kLayerScale = 1e-6f;

Initializer convnext_weights() {
  return truncated_normal(0.02);
}

/// Over the channels of x [N, C, H, W].
Value channel_norm(NetworkBuilder& network, const std::string& name, const Value& x) {
  const Value last = transpose(network, name + ".last", x, {0, 2, 3, 1});
  return transpose(network, name + ".first", layer_norm(network, name, last, kConvNextEpsilon), {0, 3, 1, 2});
}

/// 7x7 depthwise convolution, then for each pixel a layer normalization and a perceptron of four times the width.
Value convnext_block(NetworkBuilder& network, const std::string& name, const Value& x) {
  const std::int64_t width = x.channels();
  Value f = network.conv(name + ".depthwise", x, width, {.kernel = 7, .groups = width, .bias = true});
  f = layer_norm(network, name + ".norm", transpose(network, name + ".last", f, {0, 2, 3, 1}), kConvNextEpsilon);
  f = gelu(network, name + ".gelu", linear(network, name + ".fc1", f, 4 * width, convnext_weights()));
  f = linear(network, name + ".fc2", f, width, convnext_weights());
  Tensor scale(DType::f32, Shape{width});
  std::ranges::fill(scale.as<float>(), kLayerScale);
  f = network.apply(name + ".scale", "Mul", {f}, {{"weight", std::move(scale)}});
  return network.add(name + ".add", x, transpose(network, name + ".first", f, {0, 3, 1, 2}));
}

/// A convolution of stride and size k, padded where the map is smaller.
Value patchify(NetworkBuilder& network, const std::string& name, const Value& x, std::int64_t channels,
               std::int64_t k) {
  const std::int64_t pad = std::min(x.shape[2], x.shape[3]) < k ? k / 2 : 0;
  return network.conv(name, x, channels, {.kernel = k, .stride = k, .pad = pad, .bias = true});
}

/// ConvNeXt "convnext-S", S one of t, s and b: 28.6, 50 and 89 M parameters, 4.5, 8.7 and 15.4 G multiply-adds for
/// samples [3, 224, 224] and 1,000 classes. Blocks are not left out at random in training. source: Liu, Mao, Wu,
/// Feichtenhofer, Darrell & Xie, A ConvNet for the 2020s, CVPR 2022.
Result<Graph> build_convnext(const Variant& variant, const ModelOptions& options) {
  const ConvNextSize* size = nullptr;
  for (const ConvNextSize& one : kConvNextSizes) {
    if (variant.has(0, one.name)) size = &one;
  }
  if (size == nullptr || variant.size() != 1) return variant.mismatch();
  NetworkBuilder network(variant.name(), options, convnext_weights());
  Value x = network.input();
  int number = 1;
  for (std::size_t stage = 0; stage < size->depths.size(); ++stage) {
    const std::string name = "stage" + std::to_string(stage + 1);
    const std::int64_t width = size->width << stage;
    if (stage == 0) {
      x = channel_norm(network, name + ".norm", patchify(network, name + ".down", x, width, 4));
    } else {
      x = patchify(network, name + ".down", channel_norm(network, name + ".norm", x), width, 2);
    }
    for (int i = 0; i < size->depths[stage]; ++i) {
      x = convnext_block(network, "block" + std::to_string(number++), x);
    }
  }
  x = layer_norm(network, "norm", network.global_average_pool("pool", x), kConvNextEpsilon);
  x = network.dense("fc", x, options.classes);
  return std::move(network).finish(x);
}

}  // namespace

Family rows::convnext() {
  return {.names = {"convnext", "convnext-S, S one of t, s, b",
                    "depthwise 7x7 convolutions, perceptrons for each pixel", "Liu et al., CVPR 2022"},
          .sample = Sample::image,
          .build = &build_convnext,
          .models = {{"convnext-t", {3, 224, 224}, 1000, 28'589'128, 4'455'531'264}}};
}

}  // namespace mangrove::zoo
