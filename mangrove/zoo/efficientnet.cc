#include <algorithm>
#include <string>

#include "mangrove/zoo/family.h"
#include "mangrove/zoo/layers.h"

namespace mangrove::zoo {
namespace {

struct EfficientStage {
  std::int64_t expansion;
  std::int64_t kernel;
  std::int64_t stride;  // of its first block
  std::int64_t channels;
  int repeats;
};

// table 1 of the paper
constexpr EfficientStage kEfficientStages[] = {{1, 3, 1, 16, 1},  {6, 3, 2, 24, 2},  {6, 5, 2, 40, 2}, {6, 3, 2, 80, 3},
                                               {6, 5, 1, 112, 3}, {6, 5, 2, 192, 4}, {6, 3, 1, 320, 1}};

/// Convolution, batch normalization, Swish.
Value conv_bn_swish(NetworkBuilder& network, const std::string& name, const Value& x, std::int64_t channels,
                    const ConvOptions& options) {
  return swish(network, name + ".swish", conv_bn(network, name, x, channels, options, ""));
}

/// Inverted residual with squeeze-and-excitation to a quarter of what comes in.
Value efficient_block(NetworkBuilder& network, const std::string& name, const Value& x, const EfficientStage& stage,
                      std::int64_t stride) {
  Value f = x;
  if (stage.expansion != 1)
    f = conv_bn_swish(network, name + ".expand", f, stage.expansion * x.channels(), {.kernel = 1});
  const ConvOptions depthwise{.kernel = stage.kernel, .stride = stride, .groups = f.channels()};
  f = conv_bn_swish(network, name + ".depthwise", f, f.channels(), depthwise);
  f = squeeze_and_excite(network, name + ".se", f, {.squeezed = std::max<std::int64_t>(1, x.channels() / 4)});
  f = conv_bn(network, name + ".project", f, stage.channels, {.kernel = 1}, "");
  return stride == 1 && x.channels() == stage.channels ? network.add(name + ".add", x, f) : f;
}

/// EfficientNet-B0 "efficientnet-b0": 5.3 M parameters and 0.39 G multiply-adds for samples [3, 224, 224] and 1,000
/// classes. Blocks are not left out at random in training.
/// source: Tan & Le, EfficientNet: rethinking model scaling for convolutional neural networks, ICML 2019.
Result<Graph> build_efficientnet(const Variant& variant, const ModelOptions& options) {
  if (variant.size() != 1 || !variant.has(0, "b0")) return variant.mismatch();
  NetworkBuilder network(variant.name(), options, he_normal_fan_out());
  Value x = conv_bn_swish(network, "conv1", network.input(), 32, {.stride = 2});
  int number = 1;
  for (const EfficientStage& stage : kEfficientStages) {
    for (int i = 0; i < stage.repeats; ++i) {
      x = efficient_block(network, "block" + std::to_string(number++), x, stage, i == 0 ? stage.stride : 1);
    }
  }
  x = conv_bn_swish(network, "conv2", x, 1280, {.kernel = 1});
  x = network.dropout("dropout", network.global_average_pool("pool", x), 0.2f);
  return std::move(network).finish(network.dense("fc", x, options.classes, glorot_uniform()));
}

}  // namespace

Family rows::efficientnet() {
  return {.names = {"efficientnet", "efficientnet-b0", "inverted residuals, Swish, squeeze-and-excitation",
                    "Tan & Le, ICML 2019"},
          .sample = Sample::image,
          .build = &build_efficientnet,
          .models = {{"efficientnet-b0", {3, 224, 224}, 1000, 5'288'548, 385'814'752}}};
}

}  // namespace mangrove::zoo
