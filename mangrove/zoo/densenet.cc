#include <algorithm>
#include <array>
#include <span>

#include "mangrove/zoo/family.h"
#include "mangrove/zoo/layers.h"

namespace mangrove::zoo {
namespace {

/// Layers that each add k channels to all that came before them: 1x1 to 4k (a bottleneck, B), 3x3 to k.
Value dense_block(NetworkBuilder& network, const std::string& name, Value x, std::int64_t layers, std::int64_t k) {
  for (std::int64_t layer = 1; layer <= layers; ++layer) {
    const std::string full = name + ".layer" + std::to_string(layer);
    Value f = bn_relu_conv(network, full + ".conv1", x, 4 * k, {.kernel = 1});
    f = bn_relu_conv(network, full + ".conv2", f, k, {});
    x = network.concat(full + ".concat", {x, f});
  }
  return x;
}

/// Half of the channels (compression, C) at half the resolution.
Value transition(NetworkBuilder& network, const std::string& name, const Value& x) {
  return network.average_pool(name + ".pool",
                              bn_relu_conv(network, name + ".conv", x, x.channels() / 2, {.kernel = 1}));
}

Result<Graph> finish(NetworkBuilder& network, Value x, std::span<const std::int64_t> blocks, std::int64_t k,
                     std::int64_t classes) {
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::string number = std::to_string(i + 1);
    x = dense_block(network, "block" + number, x, blocks[i], k);
    if (i + 1 < blocks.size()) x = transition(network, "transition" + number, x);
  }
  x = network.activation("relu", network.batch_norm("bn", x), "Relu");
  return std::move(network).finish(classifier(network, x, classes));
}

/// DenseNet-BC for ImageNet: "densenet-121" has growth rate 32, 7,978,856 parameters and 2.8 G multiply-adds for
/// samples [3, 224, 224] and 1,000 classes. source: Huang, Liu, van der Maaten & Weinberger, Densely connected
/// convolutional networks, CVPR 2017, table 1.
Result<Graph> build_densenet(const Variant& variant, const ModelOptions& options) {
  struct Configuration {
    std::int64_t depth;
    std::array<std::int64_t, 4> blocks;
  };
  constexpr Configuration kConfigurations[] = {{121, {6, 12, 24, 16}}, {169, {6, 12, 32, 32}}, {201, {6, 12, 48, 32}}};
  constexpr std::int64_t kGrowth = 32;
  const auto depth = variant.whole(0, 121, 201);
  const auto* found = std::find_if(std::begin(kConfigurations), std::end(kConfigurations),
                                   [&](const Configuration& row) { return depth && row.depth == *depth; });
  if (found == std::end(kConfigurations) || variant.size() != 1) return variant.mismatch();
  NetworkBuilder network(variant.name(), options, he_normal_fan_in());
  Value x = conv_bn(network, "conv1", network.input(), 2 * kGrowth, {.kernel = 7, .stride = 2});
  x = network.max_pool("pool1", x, {.kernel = 3, .stride = 2, .pad = 1});
  return finish(network, x, found->blocks, kGrowth, options.classes);
}

/// DenseNet-BC for CIFAR, "densenet-bc-L-K" of depth L = 6n + 4 and growth rate K; densenet-bc-100-12 has 0.8 M
/// parameters. source: the same, section 3 (implementation details).
Result<Graph> build_densenet_bc(const Variant& variant, const ModelOptions& options) {
  const auto depth = variant.whole(0, 10, 1000), growth = variant.whole(1, 1, 256);
  if (!depth || !growth || *depth % 6 != 4 || variant.size() != 2) return variant.mismatch();
  const std::int64_t layers = (*depth - 4) / 6;
  NetworkBuilder network(variant.name(), options, he_normal_fan_in());
  const Value x = network.conv("conv1", network.input(), 2 * *growth, {});
  return finish(network, x, std::array{layers, layers, layers}, *growth, options.classes);
}

}  // namespace

Family rows::densenet_bc() {
  return {.names = {"densenet-bc", "densenet-bc-L-K, depth L = 6n + 4, growth rate K", "densely connected, for CIFAR",
                    "Huang et al., CVPR 2017"},
          .sample = Sample::image,
          .build = &build_densenet_bc,
          .models = {{"densenet-bc-100-12", {3, 32, 32}, 10, 769'162, 287'929'692}}};
}

Family rows::densenet() {
  return {.names = {"densenet", "densenet-D, depth D one of 121, 169, 201", "densely connected (BC), for ImageNet",
                    "Huang et al., CVPR 2017"},
          .sample = Sample::image,
          .build = &build_densenet,
          .models = {{"densenet-121", {3, 224, 224}, 1000, 7'978'856, 2'834'161'664}}};
}

}  // namespace mangrove::zoo
