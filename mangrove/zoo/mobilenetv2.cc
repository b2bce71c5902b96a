#include <algorithm>

#include "mangrove/zoo/family.h"
#include "mangrove/zoo/layers.h"

namespace mangrove::zoo {
namespace {

struct Stage {
  std::int64_t expansion;
  std::int64_t channels;
  int repeats;
  std::int64_t stride;  // of its first block
};

// table 2 of the paper
constexpr Stage kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                             {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};

std::int64_t scaled(std::int64_t channels, double width) {
  return multiple_of_8(static_cast<double>(channels) * width);
}

/// Inverted residual: 1x1 expansion, 3x3 depthwise, linear 1x1 projection; added to x where the shapes are equal.
Value inverted_residual(NetworkBuilder& network, const std::string& name, const Value& x, std::int64_t expansion,
                        std::int64_t channels, std::int64_t stride) {
  Value f = x;
  if (expansion != 1) f = conv_bn(network, name + ".expand", f, expansion * x.channels(), {.kernel = 1}, "Relu6");
  f = conv_bn(network, name + ".depthwise", f, f.channels(), {.stride = stride, .groups = f.channels()}, "Relu6");
  f = conv_bn(network, name + ".project", f, channels, {.kernel = 1}, "");
  return stride == 1 && x.channels() == channels ? network.add(name + ".add", x, f) : f;
}

/// MobileNetV2 "mobilenetv2-W" of width multiplier W (1 where left out): 3.5 M parameters and 300 M multiply-adds for
/// samples [3, 224, 224] and 1,000 classes. Starts as the authors' TF-Slim code does.
/// source: Sandler, Howard, Zhu, Zhmoginov & Chen, MobileNetV2: inverted residuals and linear bottlenecks, CVPR 2018.
Result<Graph> build_mobilenetv2(const Variant& variant, const ModelOptions& options) {
  const auto width = variant.size() > 0 ? variant.real(0, 0.05, 4) : 1;
  if (!width || variant.size() > 1) return variant.mismatch();
  NetworkBuilder network(variant.name(), options, truncated_normal(0.09));
  Value x = conv_bn(network, "conv1", network.input(), scaled(32, *width), {.stride = 2}, "Relu6");
  int number = 1;
  for (const Stage& stage : kStages) {
    for (int i = 0; i < stage.repeats; ++i) {
      x = inverted_residual(network, "block" + std::to_string(number++), x, stage.expansion,
                            scaled(stage.channels, *width), i == 0 ? stage.stride : 1);
    }
  }
  x = conv_bn(network, "conv2", x, scaled(1280, std::max(1.0, *width)), {.kernel = 1}, "Relu6");
  x = network.dropout("dropout", network.global_average_pool("pool", x), 0.2f);
  return std::move(network).finish(network.dense("fc", x, options.classes, glorot_uniform()));
}

}  // namespace

Family rows::mobilenetv2() {
  return {.names = {"mobilenetv2", "mobilenetv2-W, width multiplier W", "inverted residuals, linear bottlenecks",
                    "Sandler et al., CVPR 2018"},
          .sample = Sample::image,
          .build = &build_mobilenetv2,
          .models = {{"mobilenetv2", {3, 224, 224}, 1000, 3'504'872, 300'774'272},
                     {"mobilenetv2-0.5", {3, 224, 224}, 1000, 1'968'680, 97'131'840}}};
}

}  // namespace mangrove::zoo
