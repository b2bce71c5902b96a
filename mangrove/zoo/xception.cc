#include "mangrove/zoo/family.h"
#include "mangrove/zoo/layers.h"

namespace mangrove::zoo {
namespace {

/// 3x3 depthwise and 1x1 convolution with nothing between them, and batch normalization.
Value separable(NetworkBuilder& network, const std::string& name, const Value& x, std::int64_t channels) {
  const Value y = network.conv(name + ".depthwise", x, x.channels(), {.groups = x.channels()});
  return conv_bn(network, name + ".pointwise", y, channels, {.kernel = 1}, "");
}

Value relu(NetworkBuilder& network, const std::string& name, const Value& x) {
  return network.activation(name, x, "Relu");
}

/// Two separable convolutions and a pooling of stride 2, added to a 1x1 convolution of stride 2.
Value reduction_block(NetworkBuilder& network, const std::string& name, const Value& x, std::int64_t middle,
                      std::int64_t channels, bool relu_first) {
  Value f = relu_first ? relu(network, name + ".relu1", x) : x;
  f = separable(network, name + ".conv1", f, middle);
  f = separable(network, name + ".conv2", relu(network, name + ".relu2", f), channels);
  f = network.max_pool(name + ".pool", f, {.kernel = 3, .stride = 2, .pad = 1});
  const Value shortcut = conv_bn(network, name + ".shortcut", x, channels, {.kernel = 1, .stride = 2}, "");
  return network.add(name + ".add", f, shortcut);
}

Value middle_block(NetworkBuilder& network, const std::string& name, const Value& x) {
  Value f = x;
  for (const std::string number : {"1", "2", "3"})
    f = separable(network, name + ".conv" + number, relu(network, name + ".relu" + number, f), x.channels());
  return network.add(name + ".add", f, x);
}

/// Xception: 22,855,952 parameters and 8.4 G multiply-adds for samples [3, 299, 299] and 1,000 classes. Starts as the
/// author's Keras code does (Glorot).
/// source: Chollet, Xception: deep learning with depthwise separable convolutions, CVPR 2017, figure 5.
Result<Graph> build_xception(const Variant& variant, const ModelOptions& options) {
  if (variant.size() > 0) return variant.mismatch();
  NetworkBuilder network(variant.name(), options, glorot_uniform());
  Value x = conv_bn(network, "conv1", network.input(), 32, {.stride = 2, .pad = 0});
  x = conv_bn(network, "conv2", x, 64, {.pad = 0});
  x = reduction_block(network, "block1", x, 128, 128, false);
  x = reduction_block(network, "block2", x, 256, 256, true);
  x = reduction_block(network, "block3", x, 728, 728, true);
  for (int block = 4; block <= 11; ++block) x = middle_block(network, "block" + std::to_string(block), x);
  x = reduction_block(network, "block12", x, 728, 1024, true);
  x = relu(network, "conv3.relu", separable(network, "conv3", x, 1536));
  x = relu(network, "conv4.relu", separable(network, "conv4", x, 2048));
  return std::move(network).finish(classifier(network, x, options.classes));
}

}  // namespace

Family rows::xception() {
  return {.names = {"xception", "xception", "depthwise separable convolutions with residual connections",
                    "Chollet, CVPR 2017"},
          .sample = Sample::image,
          .build = &build_xception,
          .models = {{"xception", {3, 299, 299}, 1000, 22'855'952, 8'357'403'496}}};
}

}  // namespace mangrove::zoo
