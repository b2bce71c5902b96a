#include "mangrove/zoo/family.h"
#include "mangrove/zoo/layers.h"

namespace mangrove::zoo {
namespace {

constexpr PoolOptions kOverlappingPool{.kernel = 3, .stride = 2};

Value conv_relu(NetworkBuilder& network, const std::string& name, const Value& x, std::int64_t channels,
                std::int64_t kernel) {
  return network.activation(name + ".relu", network.conv(name, x, channels, {.kernel = kernel, .bias = true}), "Relu");
}

/// Of 3x3 convolutions, the last of which is pooled, and a dense layer.
Value branch(NetworkBuilder& network, const std::string& name, Value x, int convolutions, std::int64_t classes) {
  for (int i = 1; i <= convolutions; ++i) x = conv_relu(network, name + ".conv" + std::to_string(i), x, 32, 3);
  x = network.max_pool(name + ".pool", x, kOverlappingPool);
  return network.dense(name + ".fc", network.flatten(name + ".flatten", x), classes);
}

/// AlexNet for small images, five convolutions and three dense layers, with early exits behind its first and its second
/// convolution, of two and of one convolution and a dense layer.
/// source: Teerapittayanon, McDanel & Kung, BranchyNet: fast inference via early exiting from deep neural networks,
/// ICPR 2016, section IV (B-AlexNet).
Result<Graph> build_branchy_alexnet(const Variant& variant, const ModelOptions& options) {
  if (variant.size() > 0) return variant.mismatch();
  NetworkBuilder network(variant.name(), options, he_normal_fan_in());
  Value x = conv_relu(network, "conv1", network.input(), 32, 5);
  x = response_normalization(network, "norm1", network.max_pool("pool1", x, kOverlappingPool));
  const Value first = branch(network, "branch1", x, 2, options.classes);
  x = conv_relu(network, "conv2", x, 64, 5);
  x = response_normalization(network, "norm2", network.max_pool("pool2", x, kOverlappingPool));
  const Value second = branch(network, "branch2", x, 1, options.classes);
  x = conv_relu(network, "conv3", x, 96, 3);
  x = conv_relu(network, "conv4", x, 96, 3);
  x = conv_relu(network, "conv5", x, 64, 3);
  x = network.flatten("flatten", network.max_pool("pool5", x, kOverlappingPool));
  x = network.activation("relu6", network.dense("fc6", x, 256), "Relu");
  x = network.dropout("dropout6", x, 0.5f);
  x = network.activation("relu7", network.dense("fc7", x, 128), "Relu");
  x = network.dropout("dropout7", x, 0.5f);
  return std::move(network).finish(network.dense("fc8", x, options.classes), {first, second});
}

}  // namespace

Family rows::branchy_alexnet() {
  return {.names = {"branchy-alexnet", "branchy-alexnet",
                    "AlexNet for 32 x 32 pixels with exits behind its first two convolutions",
                    "Teerapittayanon et al., ICPR 2016"},
          .sample = Sample::image,
          .build = &build_branchy_alexnet,
          .models = {{"branchy-alexnet", {3, 32, 32}, 10, 484'926, 28'711'296}}};
}

}  // namespace mangrove::zoo
