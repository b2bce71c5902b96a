#include "mangrove/zoo/family.h"
#include "mangrove/zoo/network_builder.h"

namespace mangrove::zoo {
namespace {

/// 1x1 convolution to `squeezed` channels, then 1x1 and 3x3 convolutions of `expanded` channels each, side by side.
Value fire(NetworkBuilder& network, const std::string& name, const Value& x, std::int64_t squeezed,
           std::int64_t expanded) {
  const auto layer = [&](const std::string& part, const Value& from, std::int64_t channels, std::int64_t kernel) {
    const std::string full = name + "." + part;
    return network.activation(full + ".relu", network.conv(full, from, channels, {.kernel = kernel, .bias = true}),
                              "Relu");
  };
  const Value squeeze = layer("squeeze", x, squeezed, 1);
  const Value one = layer("expand1x1", squeeze, expanded, 1);
  const Value three = layer("expand3x3", squeeze, expanded, 3);
  return network.concat(name + ".concat", {one, three});
}

/// SqueezeNet 1.1, as accurate as 1.0 of the paper with 2.4 times less work: 1,235,496 parameters for samples
/// [3, 224, 224] and 1,000 classes. Starts as the authors' Caffe model does.
/// source: Iandola, Han, Moskewicz, Ashraf, Dally & Keutzer, SqueezeNet: AlexNet-level accuracy with 50x fewer
/// parameters and < 0.5 MB model size, 2016; version 1.1: the authors' repository forresti/SqueezeNet.
Result<Graph> build_squeezenet(const Variant& variant, const ModelOptions& options) {
  if (variant.size() > 0) return variant.mismatch();
  constexpr PoolOptions kOverlapping{.kernel = 3, .stride = 2};
  NetworkBuilder network(variant.name(), options, caffe_xavier());
  Value x = network.conv("conv1", network.input(), 64, {.stride = 2, .pad = 0, .bias = true});
  x = network.activation("conv1.relu", x, "Relu");
  x = network.max_pool("pool1", x, kOverlapping);
  x = fire(network, "fire2", x, 16, 64);
  x = fire(network, "fire3", x, 16, 64);
  x = network.max_pool("pool3", x, kOverlapping);
  x = fire(network, "fire4", x, 32, 128);
  x = fire(network, "fire5", x, 32, 128);
  x = network.max_pool("pool5", x, kOverlapping);
  x = fire(network, "fire6", x, 48, 192);
  x = fire(network, "fire7", x, 48, 192);
  x = fire(network, "fire8", x, 64, 256);
  x = fire(network, "fire9", x, 64, 256);
  x = network.dropout("dropout", x, 0.5f);
  x = network.conv("conv10", x, options.classes, {.kernel = 1, .bias = true}, normal(0.01));
  x = network.activation("conv10.relu", x, "Relu");
  return std::move(network).finish(network.global_average_pool("pool10", x));
}

}  // namespace

Family rows::squeezenet() {
  return {.names = {"squeezenet-1.1", "squeezenet-1.1", "fire modules: squeeze, then expand", "Iandola et al., 2016"},
          .sample = Sample::image,
          .build = &build_squeezenet,
          .models = {{"squeezenet-1.1", {3, 224, 224}, 1000, 1'235'496, 349'151'936}}};
}

}  // namespace mangrove::zoo
