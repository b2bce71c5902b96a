#include "mangrove/zoo/residual_block.h"

namespace mangrove::zoo {
namespace {

Value padded_shortcut(NetworkBuilder& network, const std::string& name, const Value& x, std::int64_t channels,
                      std::int64_t stride) {
  const Value sampled = network.slice(name + ".sample", x, 0, x.channels(), stride);
  const std::int64_t before = (channels - x.channels()) / 2;
  const std::vector<std::int64_t> pads = {0, before, 0, 0, 0, channels - x.channels() - before, 0, 0};
  return network.apply(name + ".pad", "Pad", {sampled}, {{"pads", Tensor::of<std::int64_t>(Shape{8}, pads)}});
}

Value make_shortcut(NetworkBuilder& network, const std::string& name, const Value& x, std::int64_t channels,
                    std::int64_t stride, Shortcut shortcut) {
  if (stride == 1 && x.channels() == channels) return x;
  if (shortcut == Shortcut::padded) return padded_shortcut(network, name, x, channels, stride);
  return conv_bn(network, name, x, channels, {.kernel = 1, .stride = stride}, "");
}

Value sum(NetworkBuilder& network, const std::string& name, const Value& f, const Value& shortcut) {
  return network.activation(name + ".relu", network.add(name + ".add", f, shortcut), "Relu");
}

}  // namespace

Value basic_block(NetworkBuilder& network, const std::string& name, const Value& x, std::int64_t channels,
                  std::int64_t stride, Shortcut shortcut) {
  Value f = conv_bn(network, name + ".conv1", x, channels, {.stride = stride});
  f = conv_bn(network, name + ".conv2", f, channels, {}, "");
  return sum(network, name, f, make_shortcut(network, name + ".shortcut", x, channels, stride, shortcut));
}

Value bottleneck_block(NetworkBuilder& network, const std::string& name, const Value& x, std::int64_t width,
                       std::int64_t stride) {
  Value f = conv_bn(network, name + ".conv1", x, width, {.kernel = 1});
  f = conv_bn(network, name + ".conv2", f, width, {.stride = stride});
  f = conv_bn(network, name + ".conv3", f, 4 * width, {.kernel = 1}, "");
  return sum(network, name, f, make_shortcut(network, name + ".shortcut", x, 4 * width, stride, Shortcut::projection));
}

}  // namespace mangrove::zoo
