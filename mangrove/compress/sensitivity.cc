#include "mangrove/compress/sensitivity.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "mangrove/data/subset.h"
#include "mangrove/learn/evaluate.h"

namespace mangrove::compress {
namespace {

constexpr std::array kShares = {1.0, 0.5, 0.3, 0.2, 0.1, 0.05, 0.03, 0.02, 0.01};
constexpr std::int64_t kSamples = 1024;
constexpr std::int64_t kRows = 128;  // in a pass

Result<double> loss_of(const Graph& graph, const std::shared_ptr<const data::Dataset>& samples,
                       const Workplace& workplace) {
  learn::ReplicaOptions options;
  options.batch = kRows;
  options.mode = Mode::inference;
  options.backend = workplace.backend;
  options.threads = workplace.threads;
  MG_TRY(const auto replica, learn::Replica::create(graph, options));
  MG_TRY(const learn::Evaluation evaluation,
         learn::evaluate(*replica, samples, workplace.stop, workplace.augmentation));
  return evaluation.loss;
}

/// The least share at which the loss of this layer rises by at most `rise`, between measured shares on a straight line
/// over their logarithms.
double least_share(const Sensitivity& layer, double rise) {
  const double most = layer.losses[0] + rise;
  for (std::size_t i = 1; i < kShares.size(); ++i) {
    if (layer.losses[i] <= most) continue;
    const double before = layer.losses[i - 1], step = layer.losses[i] - before;
    const double part = step > 0 ? std::clamp((most - before) / step, 0.0, 1.0) : 0;
    return std::exp((1 - part) * std::log(kShares[i - 1]) + part * std::log(kShares[i]));
  }
  return kShares.back();
}

double kept_in_all(const std::vector<Sensitivity>& layers, double rise) {
  double kept = 0, all = 0;
  for (const Sensitivity& layer : layers) {
    kept += least_share(layer, rise) * static_cast<double>(layer.weights);
    all += static_cast<double>(layer.weights);
  }
  return all > 0 ? kept / all : 1;
}

}  // namespace

std::span<const double> measured_shares() {
  return kShares;
}

Result<std::vector<Sensitivity>> measure_sensitivity(
    const std::vector<LayerWeights>& layers, const Graph& graph, const Workplace& workplace,
    const std::function<Result<Graph>(const LayerWeights& layer, double keep)>& shrunk) {
  const auto samples = data::first_samples(workplace.train, kSamples);
  MG_TRY(const double whole, loss_of(graph, samples, workplace));
  std::vector<Sensitivity> result;
  std::int64_t done = 0;
  const auto total = static_cast<std::int64_t>(layers.size());
  for (const LayerWeights& layer : layers) {
    Sensitivity sensitivity{layer.node, graph.initializers().at(layer.weights).elements(), {whole}};
    for (std::size_t i = 1; i < kShares.size(); ++i) {
      MG_TRY(const Graph smaller, shrunk(layer, kShares[i]));
      MG_TRY(const double loss, loss_of(smaller, samples, workplace));
      // a network that loses more keeps no lower loss
      sensitivity.losses.push_back(std::max(loss, sensitivity.losses.back()));
    }
    result.push_back(std::move(sensitivity));
    if (workplace.progress) workplace.progress("measure", ++done, total);
  }
  return result;
}

std::map<std::string, double> kept_by_sensitivity(const std::vector<Sensitivity>& layers, double keep) {
  constexpr int kHalvings = 60;
  double low = 0, high = 1;
  while (kept_in_all(layers, high) > keep && high < 1e12) high *= 2;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (kept_in_all(layers, middle) > keep ? low : high) = middle;
  }
  // below the smallest share that is measured, or between equal losses, all layers shrink alike
  const double rest = kept_in_all(layers, high);
  std::map<std::string, double> kept;
  for (const Sensitivity& layer : layers) kept[layer.layer] = std::min(1.0, least_share(layer, high) * keep / rest);
  return kept;
}

}  // namespace mangrove::compress
