#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "mangrove/compress/fine_tune.h"
#include "mangrove/compress/layers.h"

namespace mangrove::compress {

/// How the loss rises when one layer alone is made smaller: for each share of it that may be kept, falling from 1, the
/// mean loss over some training samples.
struct Sensitivity {
  std::string layer;
  std::int64_t weights = 0;
  std::vector<double> losses;  // for each of the shares
};

/// Shares that layers are measured at, falling from 1.
std::span<const double> measured_shares();

/// Measures layers one by one. shrunk: the network with so much of this layer kept.
/// samples: how many training samples. errors: those of Replica::create, learn::evaluate and `shrunk`; cancelled.
Result<std::vector<Sensitivity>> measure_sensitivity(
    const std::vector<LayerWeights>& layers, const Graph& graph, const Workplace& workplace,
    const std::function<Result<Graph>(const LayerWeights& layer, double keep)>& shrunk);

/// The share that each layer keeps, such that of all weights together the share `keep` is kept and every layer alone
/// may raise the loss by the same amount at most: layers that the loss hardly feels lose most.
/// source: Han, Pool, Tran & Dally, Learning both weights and connections, NIPS 2015, section 3.2 (sensitivity scan).
std::map<std::string, double> kept_by_sensitivity(const std::vector<Sensitivity>& layers, double keep);

}  // namespace mangrove::compress
