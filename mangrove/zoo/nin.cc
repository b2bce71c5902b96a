#include "mangrove/zoo/family.h"
#include "mangrove/zoo/network_builder.h"

namespace mangrove::zoo {
namespace {

/// The paper's mlpconv: a convolution of `first` channels, and behind it two layers of a perceptron that slides over
/// the image, which are 1x1 convolutions.
Value mlpconv(NetworkBuilder& network, const std::string& name, const Value& x, std::int64_t kernel, std::int64_t first,
              std::int64_t second, std::int64_t third) {
  const auto layer = [&](const std::string& part, const Value& from, std::int64_t channels, std::int64_t size) {
    const std::string full = name + "." + part;
    return network.activation(full + ".relu", network.conv(full, from, channels, {.kernel = size, .bias = true}),
                              "Relu");
  };
  return layer("mlp2", layer("mlp1", layer("conv", x, first, kernel), second, 1), third, 1);
}

/// Network in Network for CIFAR: 966,986 parameters and 0.22 G multiply-adds for samples [3, 32, 32] and 10 classes.
/// The classes are the channels of the last layer; their means over the image are the logits, so there is no dense
/// layer. Starts as the authors' network does, with deviation 0.05. source: Lin, Chen & Yan, Network in network, ICLR
/// 2014; sizes: the authors' repository mavenlin/cuda-convnet.
Result<Graph> build_nin(const Variant& variant, const ModelOptions& options) {
  if (variant.size() > 0) return variant.mismatch();
  constexpr PoolOptions kOverlapping{.kernel = 3, .stride = 2, .pad = 1};
  NetworkBuilder network(variant.name(), options, normal(0.05));
  Value x = mlpconv(network, "block1", network.input(), 5, 192, 160, 96);
  x = network.dropout("dropout1", network.max_pool("pool1", x, kOverlapping), 0.5f);
  x = mlpconv(network, "block2", x, 5, 192, 192, 192);
  x = network.dropout("dropout2", network.max_pool("pool2", x, kOverlapping), 0.5f);
  x = mlpconv(network, "block3", x, 3, 192, 192, options.classes);
  return std::move(network).finish(network.global_average_pool("pool3", x));
}

}  // namespace

Family rows::nin() {
  return {.names = {"nin", "nin", "Network in Network, for CIFAR: small perceptrons in place of filters",
                    "Lin et al., ICLR 2014"},
          .sample = Sample::image,
          .build = &build_nin,
          .models = {{"nin", {3, 32, 32}, 10, 966'986, 222'486'528}}};
}

}  // namespace mangrove::zoo
