#include <algorithm>
#include <cmath>

#include "mangrove/zoo/family.h"
#include "mangrove/zoo/layers.h"

namespace mangrove::zoo {
namespace {

struct Block {
  std::int64_t channels;
  std::int64_t stride;
};

std::vector<Block> blocks(double depth) {
  std::vector<Block> all = {{64, 1}, {128, 2}, {128, 1}, {256, 2}, {256, 1}, {512, 2}};
  const auto repeats = static_cast<std::size_t>(std::lround(5 * depth));
  all.insert(all.end(), repeats, Block{512, 1});
  all.insert(all.end(), {{1024, 2}, {1024, 1}});
  return all;
}

/// MobileNet "mobilenet-W-D": width multiplier W (channels of every layer), depth multiplier D (of the five equal
/// blocks of 512 channels; 0 is the paper's "shallow" network); both are 1 where left out. 4.2 M parameters and 569 M
/// multiply-adds for samples [3, 224, 224] and 1,000 classes. The paper's resolution multiplier is the sample's size.
/// Starts as the authors' TF-Slim code does.
/// source: Howard et al., MobileNets: efficient convolutional neural networks for mobile vision applications, 2017.
Result<Graph> build_mobilenet(const Variant& variant, const ModelOptions& options) {
  const auto width = variant.size() > 0 ? variant.real(0, 0.05, 4) : 1;
  const auto depth = variant.size() > 1 ? variant.real(1, 0, 8) : 1;
  if (!width || !depth || variant.size() > 2) return variant.mismatch();
  const auto scaled = [&](std::int64_t channels) {
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(channels) * *width));
  };
  NetworkBuilder network(variant.name(), options, truncated_normal(0.09));
  Value x = conv_bn(network, "conv1", network.input(), scaled(32), {.stride = 2});
  int number = 1;
  for (const Block& block : blocks(*depth)) {
    const std::string name = "block" + std::to_string(number++);
    x = conv_bn(network, name + ".depthwise", x, x.channels(), {.stride = block.stride, .groups = x.channels()});
    x = conv_bn(network, name + ".pointwise", x, scaled(block.channels), {.kernel = 1});
  }
  return std::move(network).finish(classifier(network, x, options.classes));
}

}  // namespace

Family rows::mobilenet() {
  return {.names = {"mobilenet", "mobilenet-W-D, width multiplier W, depth multiplier D of the five equal blocks",
                    "depthwise separable convolutions (D = 0: shallow)", "Howard et al., 2017"},
          .sample = Sample::image,
          .build = &build_mobilenet,
          .models = {{"mobilenet", {3, 224, 224}, 1000, 4'231'976, 568'740'352},
                     {"mobilenet-0.5", {3, 224, 224}, 1000, 1'331'592, 149'497'088},
                     {"mobilenet-1.0-0", {3, 224, 224}, 1000, 2'887'976, 307'323'392}}};
}

}  // namespace mangrove::zoo
