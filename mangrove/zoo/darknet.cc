#include <string>

#include "mangrove/zoo/family.h"
#include "mangrove/zoo/layers.h"

namespace mangrove::zoo {
namespace {

/// A convolution, 3x3 or 1x1, with batch normalization and max(x, 0.1 x).
Value leaky_conv(NetworkBuilder& network, const std::string& name, const Value& x, std::int64_t channels,
                 std::int64_t kernel) {
  const Value y = conv_bn(network, name, x, channels, {.kernel = kernel}, "");
  return network.apply(name + ".leaky", "LeakyRelu", {y}, {}, {{"alpha", 0.1f}});
}

/// Darknet-19: 3x3 convolutions, and between them 1x1 ones of half the channels, in six stages with a pooling between
/// them; 20,842,376 parameters and 2.79 G multiply-adds for samples [3, 224, 224] and 1,000 classes. YOLOv2 begins with
/// its first 18 convolutions: it takes them pretrained, at 416 or 608 pixels. The classes are the channels of the last
/// convolution; their means over the image are the logits. Starts as the authors' code does. source: Redmon & Farhadi,
/// YOLO9000: better, faster, stronger, CVPR 2017, table 6; the start and the 0.1: the authors' repository
/// pjreddie/darknet.
Result<Graph> build_darknet_19(const Variant& variant, const ModelOptions& options) {
  if (variant.size() > 0) return variant.mismatch();
  constexpr int kConvs[] = {1, 1, 3, 3, 5, 5};  // of each stage
  NetworkBuilder network(variant.name(), options, he_normal_fan_in());
  Value x = network.input();
  std::int64_t channels = 32;
  for (int stage = 1; stage <= 6; ++stage) {
    if (stage > 1) x = network.max_pool("pool" + std::to_string(stage - 1), x);
    for (int i = 1; i <= kConvs[stage - 1]; ++i) {
      const std::string name = "conv" + std::to_string(stage) + "_" + std::to_string(i);
      const bool narrows = i % 2 == 0;
      x = leaky_conv(network, name, x, narrows ? channels / 2 : channels, narrows ? 1 : 3);
    }
    channels *= 2;
  }
  x = network.conv("conv7", x, options.classes, {.kernel = 1, .bias = true});
  return std::move(network).finish(network.global_average_pool("pool7", x));
}

}  // namespace

Family rows::darknet_19() {
  return {.names = {"darknet-19", "darknet-19", "3x3 convolutions, 1x1 ones between them; YOLOv2 begins with it",
                    "Redmon & Farhadi, CVPR 2017"},
          .sample = Sample::image,
          .build = &build_darknet_19,
          .models = {{"darknet-19", {3, 224, 224}, 1000, 20'842'376, 2'790'989'824}}};
}

}  // namespace mangrove::zoo
