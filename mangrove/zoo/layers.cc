#include "mangrove/zoo/layers.h"

#include <algorithm>
#include <numbers>
#include <utility>

namespace mangrove::zoo {
namespace {

Tensor number(float value) {
  return Tensor::of<float>(Shape{}, {value});
}

Tensor repeated(std::int64_t n, float value) {
  Tensor tensor(DType::f32, Shape{n});
  std::ranges::fill(tensor.as<float>(), value);
  return tensor;
}

std::int64_t last_dimension(const Value& x) {
  return x.shape[x.shape.rank() - 1];
}

}  // namespace

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

Value swish(NetworkBuilder& network, const std::string& name, const Value& x) {
  return network.apply(name, "Mul", {x, network.activation(name + ".sigmoid", x, "Sigmoid")});
}

Value gelu(NetworkBuilder& network, const std::string& name, const Value& x) {
  Value share = network.apply(name + ".deviations", "Div", {x}, {{"divisor", number(std::numbers::sqrt2_v<float>)}});
  share = network.activation(name + ".erf", share, "Erf");
  share = network.apply(name + ".above", "Add", {share}, {{"one", number(1)}});
  share = network.apply(name + ".share", "Mul", {share}, {{"half", number(0.5f)}});
  return network.apply(name, "Mul", {x, share});
}

Value squeeze_and_excite(NetworkBuilder& network, const std::string& name, const Value& x,
                         const ExcitationOptions& options) {
  const ConvOptions pointwise{.kernel = 1, .bias = true};
  Value f = network.apply(name + ".squeeze", "GlobalAveragePool", {x});
  f = network.conv(name + ".reduce", f, options.squeezed, pointwise);
  f = options.is_hard ? network.activation(name + ".relu", f, "Relu") : swish(network, name + ".swish", f);
  f = network.conv(name + ".expand", f, x.channels(), pointwise);
  f = options.is_hard ? network.apply(name + ".gate", "HardSigmoid", {f}, {}, {{"alpha", 1.0f / 6}, {"beta", 0.5f}})
                      : network.activation(name + ".gate", f, "Sigmoid");
  return network.apply(name, "Mul", {x, f});
}

Value layer_norm(NetworkBuilder& network, const std::string& name, const Value& x, float epsilon) {
  const std::int64_t n = last_dimension(x);
  return network.apply(name, "LayerNormalization", {x}, {{"scale", repeated(n, 1)}, {"shift", repeated(n, 0)}},
                       {{"axis", std::int64_t{-1}}, {"epsilon", epsilon}});
}

Value linear(NetworkBuilder& network, const std::string& name, const Value& x, std::int64_t outputs,
             const Initializer& initializer) {
  const std::int64_t inputs = last_dimension(x);
  const Value weights =
      network.parameter(name + ".weight", Shape{inputs, outputs}, initializer, {.in = inputs, .out = outputs});
  const Value product = network.apply(name, "MatMul", {x, weights});
  return network.apply(name + ".add", "Add", {product}, {{"bias", repeated(outputs, 0)}});
}

Value reshape(NetworkBuilder& network, const std::string& name, const Value& x,
              const std::vector<std::int64_t>& shape) {
  const Shape length{static_cast<std::int64_t>(shape.size())};
  return network.apply(name, "Reshape", {x}, {{"shape", Tensor::of<std::int64_t>(length, shape)}});
}

Value transpose(NetworkBuilder& network, const std::string& name, const Value& x, std::vector<std::int64_t> order) {
  return network.apply(name, "Transpose", {x}, {}, {{"perm", std::move(order)}});
}

std::int64_t multiple_of_8(double channels) {
  const std::int64_t rounded = std::max<std::int64_t>(8, static_cast<std::int64_t>(channels + 4) / 8 * 8);
  return static_cast<double>(rounded) < 0.9 * channels ? rounded + 8 : rounded;
}

}  // namespace mangrove::zoo
