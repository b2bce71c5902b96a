#include <cstddef>
#include <vector>

#include "mangrove/compress/k_means.h"
#include "mangrove/compress/layers.h"
#include "mangrove/compress/methods/rows.h"

namespace mangrove::compress::rows {
namespace {

class Share : public Method {
 public:
  Share() {
    tuning_.learning_rate = 1e-4;  // sums of gradients are long; adam makes steps of one length
    tuning_.optimizer = "adam";
  }

  Keys keys() override {
    Keys keys;
    keys.add("conv_bits", conv_bits_, "bits of a weight of a convolution: it is one of 2^bits values", 1, 12);
    keys.add("fc_bits", fc_bits_, "the same of products and recurrent layers", 1, 12);
    tuning_.declare(keys);
    return keys;
  }

  Result<Network> run(Network network, std::int64_t round, const Workplace& workplace) const override {
    std::map<std::string, Tensor> changed;
    for (const LayerWeights& layer : layers_with_weights(network.graph)) {
      const auto values = std::size_t{1} << (layer.is_convolution ? conv_bits_ : fc_bits_);
      share_values(network, layer.weights, values, changed);
      // a bias is worth a codebook only where it is much longer than that
      if (!layer.bias.empty() &&
          network.graph.value(layer.bias).shape.elements() > static_cast<std::int64_t>(2 * values))
        share_values(network, layer.bias, values, changed);
    }
    MG_TRY(network.graph, network.graph.with_initializers(changed));
    return fine_tune(std::move(network), tuning_, workplace, static_cast<std::uint64_t>(round));
  }

 private:
  /// Zeros stay zeros: they cost a bit each, and no value.
  static void share_values(Network& network, const std::string& name, std::size_t values,
                           std::map<std::string, Tensor>& changed) {
    const Tensor& weights = network.graph.initializers().at(name);
    std::vector<float> kept;
    for (const float weight : weights.as<float>())
      if (weight != 0) kept.push_back(weight);
    const Clusters clusters = k_means(kept, values);
    Tensor shared(DType::f32, weights.shape()), numbers(DType::i32, weights.shape());
    std::size_t next = 0;
    for (std::size_t i = 0; i < weights.as<float>().size(); ++i) {
      if (weights.as<float>()[i] == 0) continue;
      const std::uint32_t cluster = clusters.of[next++];
      shared.as<float>()[i] = clusters.centres[cluster];
      numbers.as<std::int32_t>()[i] = static_cast<std::int32_t>(cluster) + 1;
    }
    changed.insert_or_assign(name, shared);
    network.constraints.insert_or_assign(name, numbers);
  }

  std::int64_t conv_bits_ = 8, fc_bits_ = 5;
  FineTuning tuning_;
};

}  // namespace

MethodRow share() {
  return {.name = "share",
          .summary = "weights of a layer share few values, found by k-means and trained on (Han et al. 2016)",
          .gain =
              "share makes the coded file smaller, not the network faster: weights are floats again once it is "
              "loaded",
          .make = [] { return std::unique_ptr<Method>(std::make_unique<Share>()); }};
}

}  // namespace mangrove::compress::rows
