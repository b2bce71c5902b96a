#include "mangrove/zoo/families.h"
#include "mangrove/zoo/network_builder.h"

namespace mangrove::zoo {

/// Multi-layer perceptron of MXNet's MNIST example: 128 and 64 hidden units with ReLU; 109,386 parameters for samples
/// [1, 28, 28] and 10 classes.
Result<Graph> build_mlp(const ModelOptions& options) {
  NetworkBuilder network("mlp", options);
  network.flatten("flatten");
  network.fully_connected("fc1", 128);
  network.activation("relu1", "Relu");
  network.fully_connected("fc2", 64);
  network.activation("relu2", "Relu");
  network.fully_connected("fc3", options.classes);
  return std::move(network).finish();
}

}  // namespace mangrove::zoo
