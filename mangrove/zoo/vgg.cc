#include <algorithm>
#include <array>

#include "mangrove/zoo/family.h"
#include "mangrove/zoo/network_builder.h"

namespace mangrove::zoo {
namespace {

struct VggConfiguration {
  std::int64_t depth;        // layers with weights
  std::array<int, 5> convs;  // per stage
};

constexpr VggConfiguration kVggConfigurations[] = {
    {11, {1, 1, 2, 2, 2}},  // A
    {13, {2, 2, 2, 2, 2}},  // B
    {16, {2, 2, 3, 3, 3}},  // D
    {19, {2, 2, 4, 4, 4}},  // E
};

/// VGG: 3x3 convolutions in five stages, each ended by a pooling, and three dense layers; VGG-16 has 138,357,544
/// parameters and 15.5 G multiply-adds for samples [3, 224, 224] and 1,000 classes. The initialisation is Glorot's,
/// with which the authors found that no pre-training is needed. source: Simonyan & Zisserman, Very deep convolutional
/// networks for large-scale image recognition, ICLR 2015, table 1.
Result<Graph> build_vgg(const Variant& variant, const ModelOptions& options) {
  const auto depth = variant.whole(0, 11, 19);
  const auto* found = std::find_if(std::begin(kVggConfigurations), std::end(kVggConfigurations),
                                   [&](const VggConfiguration& row) { return depth && row.depth == *depth; });
  if (found == std::end(kVggConfigurations) || variant.size() != 1) return variant.mismatch();
  NetworkBuilder network(variant.name(), options, glorot_uniform());
  Value x = network.input();
  std::int64_t channels = 64;
  for (std::size_t stage = 0; stage < found->convs.size(); ++stage) {
    for (int i = 1; i <= found->convs[stage]; ++i) {
      const std::string number = std::to_string(stage + 1) + "_" + std::to_string(i);
      x = network.conv("conv" + number, x, channels, {.bias = true});
      x = network.activation("relu" + number, x, "Relu");
    }
    x = network.max_pool("pool" + std::to_string(stage + 1), x);
    channels = std::min<std::int64_t>(2 * channels, 512);
  }
  x = network.flatten("flatten", x);
  for (const std::string number : {"6", "7"}) {
    x = network.dense("fc" + number, x, 4096);
    x = network.activation("relu" + number, x, "Relu");
    x = network.dropout("dropout" + number, x, 0.5f);
  }
  x = network.dense("fc8", x, options.classes);
  return std::move(network).finish(x);
}

}  // namespace

Family rows::vgg() {
  return {.names = {"vgg", "vgg-D, depth D one of 11, 13, 16, 19", "3x3 convolutions, large dense layers",
                    "Simonyan & Zisserman, ICLR 2015"},
          .sample = Sample::image,
          .build = &build_vgg,
          .models = {{"vgg-11", {3, 224, 224}, 1000, 132'863'336, 7'609'090'048},
                     {"vgg-16", {3, 224, 224}, 1000, 138'357'544, 15'470'264'320}}};
}

}  // namespace mangrove::zoo
