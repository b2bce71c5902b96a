#include "mangrove/compress/channels.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <numeric>
#include <vector>

#include "mangrove/compress/methods/rows.h"

namespace mangrove::compress::rows {
namespace {

/// The sum of the absolute weights of each filter of a layer, over the mean of all of its filters.
std::vector<double> filter_weights(const Graph& graph, const Node& node) {
  const Tensor& weights = graph.initializers().at(node.inputs[1]);
  const bool by_rows = node.op == "Conv" || node.int_or("transB", 0) == 1;
  const auto filters = static_cast<std::size_t>(weights.shape()[by_rows ? 0 : 1]);
  const auto elements = weights.as<float>();
  std::vector<double> sums(filters);
  for (std::size_t i = 0; i < elements.size(); ++i)
    sums[by_rows ? i / (elements.size() / filters) : i % filters] += std::abs(elements[i]);
  const double mean = std::accumulate(sums.begin(), sums.end(), 0.0) / static_cast<double>(filters);
  for (double& sum : sums) sum = mean > 0 ? sum / mean : 1;
  return sums;
}

class DropChannels : public Method {
 public:
  Keys keys() override {
    Keys keys;
    keys.add("keep", keep_, "share of the channels of each layer that is kept", 1e-3, 1);
    keys.add("rounds", rounds_, "rounds of dropping and training", 1, 1000);
    tuning_.declare(keys);
    return keys;
  }

  std::int64_t rounds() const override { return rounds_; }

  Result<Network> run(Network network, std::int64_t round, const Workplace& workplace) const override {
    if (!network.constraints.empty())
      return make_error(Code::invalid_argument,
                        "channels are dropped before weights are pruned or shared; put this step in front of theirs");
    MG_TRY(network.graph, drop(network.graph));
    return fine_tune(std::move(network), tuning_, workplace, static_cast<std::uint64_t>(round));
  }

 private:
  /// One round: of each family the channels with the smallest weights go, the same share in every round.
  Result<Graph> drop(const Graph& graph) const {
    const ChannelGroups channels(graph);
    std::map<std::string, std::vector<double>> weights;
    const double share = std::pow(keep_, 1 / static_cast<double>(rounds_));
    std::vector<ChannelGroups::Group> lost;
    for (const ChannelGroups::Family& family : channels.families()) {
      std::vector<double> importance;
      for (const ChannelGroups::Group& group : family.groups) {
        double sum = 0;
        for (const auto& [layer, filter] : group.filters) {
          if (!weights.contains(layer)) weights[layer] = filter_weights(graph, node_of(graph, layer));
          sum += weights[layer][static_cast<std::size_t>(filter)];
        }
        importance.push_back(sum / static_cast<double>(group.filters.size()));
      }
      std::vector<std::size_t> order(importance.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::ranges::stable_sort(order, {}, [&](std::size_t i) { return importance[i]; });
      const auto kept = static_cast<std::size_t>(std::max(1L, std::lround(share * static_cast<double>(order.size()))));
      for (std::size_t i = 0; i + kept < order.size(); ++i) lost.push_back(family.groups[order[i]]);
    }
    if (lost.empty() && keep_ < 1 && channels.families().empty())
      return make_error(Code::invalid_argument, "no channel of this network can be dropped");
    return channels.without(lost);
  }

  static const Node& node_of(const Graph& graph, const std::string& name) {
    return *std::ranges::find(graph.nodes(), name, &Node::name);
  }

  double keep_ = 0.5;
  std::int64_t rounds_ = 2;
  FineTuning tuning_;
};

}  // namespace

MethodRow channels() {
  return {.name = "channels",
          .summary = "drops whole channels, those with the smallest weights, and trains on (Li et al. 2017)",
          .gain = "channels makes the network itself smaller and faster, and its file too",
          .make = [] { return std::unique_ptr<Method>(std::make_unique<DropChannels>()); }};
}

}  // namespace mangrove::compress::rows
