#include "mangrove/zoo/family.h"
#include "mangrove/zoo/network_builder.h"

namespace mangrove::zoo {
namespace {

/// LeNet-5 in the 20-50-500 variant of the Caffe and MXNet examples (with MXNet's tanh); 431,080 parameters for
/// samples [1, 28, 28] and 10 classes.
/// source: LeCun, Bottou, Bengio & Haffner, Gradient-based learning applied to document recognition, Proc. IEEE 1998.
Result<Graph> build_lenet(const Variant& variant, const ModelOptions& options) {
  if (variant.size() > 0) return variant.mismatch();
  constexpr std::int64_t kLeastSide = 16;  // 16 - 12 - 6 - 2 - 1 through both convolutions and poolings
  const Shape& sample = options.sample_shape;
  if (sample[1] < kLeastSide || sample[2] < kLeastSide) {
    return make_error(Code::invalid_argument,
                      "samples " + to_string(sample) + " are too small, the least is 16 x 16 pixels");
  }
  const ConvOptions filter{.kernel = 5, .pad = 0, .bias = true};
  NetworkBuilder network(variant.name(), options);
  Value x = network.conv("conv1", network.input(), 20, filter);
  x = network.activation("tanh1", x, "Tanh");
  x = network.max_pool("pool1", x);
  x = network.conv("conv2", x, 50, filter);
  x = network.activation("tanh2", x, "Tanh");
  x = network.max_pool("pool2", x);
  x = network.flatten("flatten", x);
  x = network.dense("fc1", x, 500);
  x = network.activation("tanh3", x, "Tanh");
  x = network.dense("fc2", x, options.classes);
  return std::move(network).finish(x);
}

}  // namespace

Family rows::lenet() {
  return {.names = {"lenet", "lenet", "LeNet-5, 20-50-500 variant with tanh", "LeCun et al., Proc. IEEE 1998"},
          .sample = Sample::image,
          .build = &build_lenet,
          .models = {{"lenet", {1, 28, 28}, 10, 431'080, 2'293'000}}};
}

}  // namespace mangrove::zoo
