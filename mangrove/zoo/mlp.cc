#include "mangrove/zoo/family.h"
#include "mangrove/zoo/network_builder.h"

namespace mangrove::zoo {
namespace {

/// Multi-layer perceptron with ReLU: "mlp" is that of MXNet's MNIST example with 128 and 64 hidden units, 109,386
/// parameters for samples [1, 28, 28] and 10 classes; "mlp-300-100" has hidden layers of 300 and 100 units.
Result<Graph> build_mlp(const Variant& variant, const ModelOptions& options) {
  std::vector<std::int64_t> hidden = {128, 64};
  if (variant.size() > 0) hidden.clear();
  for (std::size_t i = 0; i < variant.size(); ++i) {
    const auto units = variant.whole(i, 1, 1 << 16);
    if (!units || variant.size() > 32) return variant.mismatch();
    hidden.push_back(*units);
  }
  NetworkBuilder network(variant.name(), options);
  Value x = network.flatten("flatten", network.input());
  int layer = 1;
  for (const std::int64_t units : hidden) {
    const std::string number = std::to_string(layer++);
    x = network.dense("fc" + number, x, units);
    x = network.activation("relu" + number, x, "Relu");
  }
  x = network.dense("fc" + std::to_string(layer), x, options.classes);
  return std::move(network).finish(x);
}

}  // namespace

Family rows::mlp() {
  return {.names = {"mlp", "mlp-UNITS-UNITS...", "multi-layer perceptron, 128 and 64 ReLU units or as named",
                    "MXNet's MNIST example"},
          .sample = Sample::any,
          .build = &build_mlp,
          .models = {{"mlp", {1, 28, 28}, 10, 109'386, 109'184}}};
}

}  // namespace mangrove::zoo
