#include "mangrove/zoo/family.h"
#include "mangrove/zoo/layers.h"

namespace mangrove::zoo {
namespace {

/// The original of two columns: the second, fourth and fifth convolution have two groups; 60,965,224 parameters and
/// 0.72 G multiply-adds for samples [3, 224, 224] and 1,000 classes (padded by 2, which makes the paper's 55 x 55).
/// Starts as the paper says: deviation 0.01, and biases of 1 where they feed rectifiers deep in the network.
/// source: Krizhevsky, Sutskever & Hinton, ImageNet classification with deep convolutional neural networks, NIPS 2012.
Result<Graph> build_alexnet(const Variant& variant, const ModelOptions& options) {
  if (variant.size() > 0) return variant.mismatch();
  constexpr PoolOptions kOverlapping{.kernel = 3, .stride = 2};
  NetworkBuilder network(variant.name(), options, normal(0.01));
  Value x = network.conv("conv1", network.input(), 96, {.kernel = 11, .stride = 4, .pad = 2, .bias = true});
  x = network.activation("relu1", x, "Relu");
  x = response_normalization(network, "norm1", x);
  x = network.max_pool("pool1", x, kOverlapping);
  x = network.conv("conv2", x, 256, {.kernel = 5, .groups = 2, .bias = true});
  x = network.activation("relu2", x, "Relu");
  x = response_normalization(network, "norm2", x);
  x = network.max_pool("pool2", x, kOverlapping);
  x = network.conv("conv3", x, 384, {.bias = true});
  x = network.activation("relu3", x, "Relu");
  x = network.conv("conv4", x, 384, {.groups = 2, .bias = true});
  x = network.activation("relu4", x, "Relu");
  x = network.conv("conv5", x, 256, {.groups = 2, .bias = true});
  x = network.activation("relu5", x, "Relu");
  x = network.max_pool("pool5", x, kOverlapping);
  x = network.flatten("flatten", x);
  for (const std::string number : {"6", "7"}) {
    x = network.dense("fc" + number, x, 4096);
    x = network.activation("relu" + number, x, "Relu");
    x = network.dropout("dropout" + number, x, 0.5f);
  }
  x = network.dense("fc8", x, options.classes);
  for (const char* layer : {"conv2", "conv4", "conv5", "fc6", "fc7"}) network.fill_bias(layer, 1);
  return std::move(network).finish(x);
}

}  // namespace

Family rows::alexnet() {
  return {.names = {"alexnet", "alexnet", "AlexNet, the original of two groups", "Krizhevsky et al., NIPS 2012"},
          .sample = Sample::image,
          .build = &build_alexnet,
          .models = {{"alexnet", {3, 224, 224}, 1000, 60'965'224, 724'406'816}}};
}

}  // namespace mangrove::zoo
