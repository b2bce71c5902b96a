#include "mangrove/zoo/layers.h"

namespace mangrove::zoo {

Value conv_bn(NetworkBuilder& network, const std::string& name, const Value& x, std::int64_t channels,
              const ConvOptions& options, const std::string& activation) {
  Value y = network.conv(name, x, channels, options);
  y = network.batch_norm(name + ".bn", y);
  if (activation.empty()) return y;
  return activation == "Relu6" ? network.relu6(name + ".relu", y) : network.activation(name + ".relu", y, activation);
}

Value bn_relu_conv(NetworkBuilder& network, const std::string& name, const Value& x, std::int64_t channels,
                   const ConvOptions& options) {
  const Value normalized = network.batch_norm(name + ".bn", x);
  return network.conv(name, network.activation(name + ".relu", normalized, "Relu"), channels, options);
}

Value classifier(NetworkBuilder& network, const Value& x, std::int64_t classes, const Initializer& weights) {
  return network.dense("fc", network.global_average_pool("pool", x), classes, weights);
}

Value response_normalization(NetworkBuilder& network, const std::string& name, const Value& x) {
  // ONNX divides its alpha by the size
  return network.apply(name, "LRN", {x}, {},
                       {{"size", std::int64_t{5}}, {"alpha", 5e-4f}, {"beta", 0.75f}, {"bias", 2.0f}});
}

Value channel_shuffle(NetworkBuilder& network, const std::string& name, const Value& x, std::int64_t groups) {
  const auto shape = [](const std::vector<std::int64_t>& dims) {
    return Tensor::of<std::int64_t>(Shape{static_cast<std::int64_t>(dims.size())}, dims);
  };
  const std::int64_t c = x.channels(), h = x.shape[2], w = x.shape[3];
  Value y = network.apply(name + ".split", "Reshape", {x}, {{"shape", shape({0, groups, c / groups, h, w})}});
  y = network.apply(name, "Transpose", {y}, {}, {{"perm", std::vector<std::int64_t>{0, 2, 1, 3, 4}}});
  return network.apply(name + ".join", "Reshape", {y}, {{"shape", shape({0, c, h, w})}});
}

}  // namespace mangrove::zoo
