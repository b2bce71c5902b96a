#include "mangrove/zoo/family.h"
#include "mangrove/zoo/network_builder.h"

namespace mangrove::zoo {
namespace {

/// LeNet-5 (see build_lenet) with an early exit of one convolution and one dense layer behind its first convolution,
/// and rectifiers, as BranchyNet's. So that the first exit costs a small part of the whole, the first convolution
/// strides where LeNet pools, and what comes after it has nearly all of the multiply-adds. source: Teerapittayanon,
/// McDanel & Kung, BranchyNet: fast inference via early exiting from deep neural networks, ICPR 2016.
Result<Graph> build_branchy_lenet(const Variant& variant, const ModelOptions& options) {
  if (variant.size() > 0) return variant.mismatch();
  constexpr std::int64_t kLeastSide = 16;  // 16 - 8 - 4 - 2 through the convolutions and the pooling
  const Shape& sample = options.sample_shape;
  if (sample[1] < kLeastSide || sample[2] < kLeastSide) {
    return make_error(Code::invalid_argument,
                      "samples " + to_string(sample) + " are too small, the least is 16 x 16 pixels");
  }
  NetworkBuilder network(variant.name(), options, he_normal_fan_in());
  Value x = network.conv("conv1", network.input(), 16, {.kernel = 5, .stride = 2, .bias = true});
  x = network.activation("relu1", x, "Relu");

  Value branch = network.conv("branch1.conv1", x, 16, {.kernel = 3, .stride = 2, .bias = true});
  branch = network.activation("branch1.relu1", branch, "Relu");
  branch = network.dense("branch1.fc", network.flatten("branch1.flatten", branch), options.classes);

  x = network.conv("conv2", x, 50, {.kernel = 5, .pad = 0, .bias = true});
  x = network.activation("relu2", x, "Relu");
  x = network.max_pool("pool2", x);
  x = network.flatten("flatten", x);
  x = network.dense("fc1", x, 500);
  x = network.activation("relu3", x, "Relu");
  x = network.dense("fc2", x, options.classes);
  return std::move(network).finish(x, {branch});
}

}  // namespace

Family rows::branchy_lenet() {
  return {.names = {"branchy-lenet", "branchy-lenet", "LeNet-5 with an exit behind its first convolution",
                    "Teerapittayanon et al., ICPR 2016"},
          .sample = Sample::image,
          .build = &build_branchy_lenet,
          .models = {{"branchy-lenet", {1, 28, 28}, 10, 661'146, 2'829'136}}};
}

}  // namespace mangrove::zoo
