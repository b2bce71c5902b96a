#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "mangrove/base/table.h"
#include "mangrove/compress/methods/rows.h"
#include "mangrove/compress/sensitivity.h"

namespace mangrove::compress::rows {
namespace {

/// Sets all but the largest `kept` weights to zero; of equal ones the first stay.
Tensor largest_only(const Tensor& weights, std::int64_t kept) {
  const auto values = weights.as<float>();
  std::vector<std::uint32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto is_larger = [&](std::uint32_t a, std::uint32_t b) {
    const float x = std::abs(values[a]), y = std::abs(values[b]);
    return x > y || (x == y && a < b);
  };
  Tensor result(DType::f32, weights.shape());
  if (kept > 0) std::nth_element(order.begin(), order.begin() + (kept - 1), order.end(), is_larger);
  for (std::int64_t i = 0; i < kept; ++i) {
    const std::uint32_t index = order[static_cast<std::size_t>(i)];
    result.as<float>()[index] = values[index];
  }
  return result;
}

/// Of a layer with so many weights: at least one.
std::int64_t kept_count(std::int64_t weights, double share) {
  return std::clamp<std::int64_t>(std::llround(static_cast<double>(weights) * share), 1, weights);
}

using Shares = std::map<std::string, double>;  // that layers keep, by node

Result<Shares> equal_shares(const Network& network, double keep, const Workplace&) {
  Shares shares;
  for (const LayerWeights& layer : layers_with_weights(network.graph)) shares[layer.node] = keep;
  return shares;
}

/// Those that one threshold of the magnitude leaves, which is the same in all layers.
Result<Shares> global_shares(const Network& network, double keep, const Workplace&) {
  const std::vector<LayerWeights> layers = layers_with_weights(network.graph);
  std::vector<float> magnitudes;
  for (const LayerWeights& layer : layers)
    for (const float weight : network.graph.initializers().at(layer.weights).as<float>())
      magnitudes.push_back(std::abs(weight));
  const auto kept = kept_count(static_cast<std::int64_t>(magnitudes.size()), keep);
  const auto last = magnitudes.begin() + (kept - 1);
  std::nth_element(magnitudes.begin(), last, magnitudes.end(), std::greater<>());
  const float threshold = *last;
  Shares shares;
  for (const LayerWeights& layer : layers) {
    const auto weights = network.graph.initializers().at(layer.weights).as<float>();
    const auto above = std::ranges::count_if(weights, [&](float weight) { return std::abs(weight) >= threshold; });
    shares[layer.node] = static_cast<double>(above) / static_cast<double>(weights.size());
  }
  return shares;
}

Result<Shares> sensitive_shares(const Network& network, double keep, const Workplace& workplace) {
  const auto shrunk = [&](const LayerWeights& layer, double share) {
    const Tensor& weights = network.graph.initializers().at(layer.weights);
    return network.graph.with_initializers(
        {{layer.weights, largest_only(weights, kept_count(weights.elements(), share))}});
  };
  MG_TRY(const auto layers, measure_sensitivity(layers_with_weights(network.graph), network.graph, workplace, shrunk));
  return kept_by_sensitivity(layers, keep);
}

/// How the weights to keep are divided among layers.
struct Division {
  std::string_view name;
  std::string_view summary;
  Result<Shares> (*shares)(const Network& network, double keep, const Workplace& workplace);
};
constexpr std::array kDivisions = {
    Division{"global", "one threshold for all layers", &global_shares},
    Division{"layer", "every layer keeps the same share", &equal_shares},
    Division{"sensitivity", "layers that the loss feels more keep more", &sensitive_shares},
};

class Prune : public Method {
 public:
  Keys keys() override {
    Keys keys;
    keys.add("keep", keep_, "share of the weights of convolutions and products that is kept", 1e-6, 1);
    keys.add("rounds", rounds_, "rounds of pruning and training; the share falls along a cubic curve", 1, 1000);
    std::string divisions;
    for (const Division& division : kDivisions)
      divisions +=
          (divisions.empty() ? "" : ", ") + std::string(division.name) + " (" + std::string(division.summary) + ")";
    keys.add("by", by_, "how the kept weights are divided among layers: " + divisions);
    tuning_.declare(keys);
    return keys;
  }

  Status check() const override {
    const auto row = find_row(kDivisions, by_, "by: unknown division", Code::invalid_argument);
    return row.ok() ? Status() : Status(row.error());
  }

  std::int64_t rounds() const override { return rounds_; }

  Result<Network> run(Network network, std::int64_t round, const Workplace& workplace) const override {
    MG_TRY(const Division* division, find_row(kDivisions, by_, "by: unknown division", Code::invalid_argument));
    MG_TRY(const Shares shares, division->shares(network, kept_after(round), workplace));
    MG_TRY(Network pruned, prune_to(std::move(network), shares));
    return fine_tune(std::move(pruned), tuning_, workplace, static_cast<std::uint64_t>(round));
  }

 private:
  /// source: Zhu & Gupta, To prune, or not to prune, 2017, equation 1, from a sparsity of 0.
  double kept_after(std::int64_t round) const {
    const double left = 1 - static_cast<double>(round + 1) / static_cast<double>(rounds_);
    return keep_ + (1 - keep_) * left * left * left;
  }

  static Result<Network> prune_to(Network network, const Shares& shares) {
    std::map<std::string, Tensor> changed;
    for (const LayerWeights& layer : layers_with_weights(network.graph)) {
      const Tensor& weights = network.graph.initializers().at(layer.weights);
      const Tensor pruned = largest_only(weights, kept_count(weights.elements(), shares.at(layer.node)));
      const auto before = network.constraints.find(layer.weights);
      network.constraints.insert_or_assign(
          layer.weights, zeros_constraint(pruned, before == network.constraints.end() ? nullptr : &before->second));
      changed.emplace(layer.weights, pruned);
    }
    MG_TRY(network.graph, network.graph.with_initializers(changed));
    return network;
  }

  double keep_ = 0.1;
  std::int64_t rounds_ = 4;
  std::string by_ = std::string(kDivisions[0].name);
  FineTuning tuning_;
};

}  // namespace

MethodRow prune() {
  return {.name = "prune",
          .summary =
              "sets the smallest weights to zero, in rounds with training between them (Han et al. 2015; Zhu & "
              "Gupta 2017)",
          .gain =
              "prune makes the coded file smaller, not the network faster: zeros are multiplied as other weights "
              "are",
          .make = [] { return std::unique_ptr<Method>(std::make_unique<Prune>()); }};
}

}  // namespace mangrove::compress::rows
