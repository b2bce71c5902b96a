#include "mangrove/zoo/families.h"
#include "mangrove/zoo/network_builder.h"

namespace mangrove::zoo {

/// LeNet-5 in the 20-50-500 variant of the Caffe and MXNet examples (with MXNet's tanh); 431,080 parameters for
/// samples [1, 28, 28] and 10 classes.
/// source: LeCun, Bottou, Bengio & Haffner, Gradient-based learning applied to document recognition, Proc. IEEE 1998.
Result<Graph> build_lenet(const ModelOptions& options) {
  constexpr std::int64_t kLeastSide = 16;  // 16 - 12 - 6 - 2 - 1 through both convolutions and poolings
  const Shape& sample = options.sample_shape;
  if (sample[1] < kLeastSide || sample[2] < kLeastSide) {
    return make_error(Code::invalid_argument,
                      "samples " + to_string(sample) + " are too small, the least is 16 x 16 pixels");
  }
  NetworkBuilder network("lenet", options);
  network.conv("conv1", 20, 5);
  network.activation("tanh1", "Tanh");
  network.max_pool("pool1", 2, 2);
  network.conv("conv2", 50, 5);
  network.activation("tanh2", "Tanh");
  network.max_pool("pool2", 2, 2);
  network.flatten("flatten");
  network.fully_connected("fc1", 500);
  network.activation("tanh3", "Tanh");
  network.fully_connected("fc2", options.classes);
  return std::move(network).finish();
}

}  // namespace mangrove::zoo
