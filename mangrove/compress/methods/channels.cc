#include "mangrove/compress/channels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <numeric>
#include <vector>

#include "mangrove/base/table.h"
#include "mangrove/compress/methods/rows.h"
#include "mangrove/compress/sensitivity.h"

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

const Node& node_called(const Graph& graph, const std::string& name) {
  return *std::ranges::find(graph.nodes(), name, &Node::name);
}

/// The channels of each family, the weakest first.
std::vector<ChannelGroups::Family> ranked_families(const Graph& graph, const ChannelGroups& channels) {
  std::map<std::string, std::vector<double>> weights;
  std::vector<ChannelGroups::Family> families = channels.families();
  for (ChannelGroups::Family& family : families) {
    const auto strength = [&](const ChannelGroups::Group& group) {
      double sum = 0;
      for (const auto& [layer, filter] : group.filters) {
        if (!weights.contains(layer)) weights[layer] = filter_weights(graph, node_called(graph, layer));
        sum += weights[layer][static_cast<std::size_t>(filter)];
      }
      return sum / static_cast<double>(group.filters.size());
    };
    std::ranges::stable_sort(family.groups, {}, strength);
  }
  return families;
}

/// Those that go where a share of the family is kept: at least one stays.
std::vector<ChannelGroups::Group> weakest(const ChannelGroups::Family& family, double share) {
  const auto all = static_cast<std::int64_t>(family.groups.size());
  const std::int64_t kept = std::max<std::int64_t>(1, std::llround(share * static_cast<double>(all)));
  return {family.groups.begin(), family.groups.begin() + std::max<std::int64_t>(0, all - kept)};
}

using Shares = std::map<std::string, double>;  // that families keep, by name

Result<Shares> equal_family_shares(const std::vector<ChannelGroups::Family>& families, const ChannelGroups&,
                                   const Graph&, double keep, const Workplace&) {
  Shares shares;
  for (const ChannelGroups::Family& family : families) shares[family.name] = keep;
  return shares;
}

Result<Shares> sensitive_family_shares(const std::vector<ChannelGroups::Family>& families,
                                       const ChannelGroups& channels, const Graph& graph, double keep,
                                       const Workplace& workplace) {
  std::vector<LayerWeights> layers;
  layers.reserve(families.size());
  for (const ChannelGroups::Family& family : families)
    layers.push_back({.node = family.name, .weights = node_called(graph, family.name).inputs[1], .bias = ""});
  const auto shrunk = [&](const LayerWeights& layer, double share) {
    return channels.without(weakest(*std::ranges::find(families, layer.node, &ChannelGroups::Family::name), share));
  };
  MG_TRY(const auto sensitivities, measure_sensitivity(layers, graph, workplace, shrunk));
  return kept_by_sensitivity(sensitivities, keep);
}

/// How the channels to keep are divided among families.
struct FamilyDivision {
  std::string_view name;
  std::string_view summary;
  Result<Shares> (*shares)(const std::vector<ChannelGroups::Family>& families, const ChannelGroups& channels,
                           const Graph& graph, double keep, const Workplace& workplace);
};
constexpr std::array kFamilyDivisions = {
    FamilyDivision{"layer", "every layer keeps the same share", &equal_family_shares},
    FamilyDivision{"sensitivity", "layers that the loss feels more keep more", &sensitive_family_shares},
};

Result<const FamilyDivision*> find_division(const std::string& name) {
  return find_row(kFamilyDivisions, name, "by: unknown division", Code::invalid_argument);
}

class DropChannels : public Method {
 public:
  Keys keys() override {
    Keys keys;
    keys.add("keep", keep_, "share of the channels that is kept", 1e-3, 1);
    keys.add("rounds", rounds_, "rounds of dropping and training", 1, 1000);
    std::string divisions;
    for (const FamilyDivision& division : kFamilyDivisions)
      divisions +=
          (divisions.empty() ? "" : ", ") + std::string(division.name) + " (" + std::string(division.summary) + ")";
    keys.add("by", by_, "how the kept channels are divided among layers: " + divisions);
    tuning_.declare(keys);
    return keys;
  }

  Status check() const override {
    const auto division = find_division(by_);
    return division.ok() ? Status() : Status(division.error());
  }

  std::int64_t rounds() const override { return rounds_; }

  Result<Network> run(Network network, std::int64_t round, const Workplace& workplace) const override {
    if (!network.constraints.empty())
      return make_error(Code::invalid_argument,
                        "channels are dropped before weights are pruned or shared; put this step in front of theirs");
    MG_TRY(network.graph, drop(network.graph, workplace));
    return fine_tune(std::move(network), tuning_, workplace, static_cast<std::uint64_t>(round));
  }

 private:
  /// One round: the weakest channels of each family go, of all of them the same share in every round.
  Result<Graph> drop(const Graph& graph, const Workplace& workplace) const {
    const ChannelGroups channels(graph);
    const std::vector<ChannelGroups::Family> families = ranked_families(graph, channels);
    if (families.empty()) return make_error(Code::invalid_argument, "no channel of this network can be dropped");
    MG_TRY(const FamilyDivision* division, find_division(by_));
    const double share = std::pow(keep_, 1 / static_cast<double>(rounds_));
    MG_TRY(const Shares shares, division->shares(families, channels, graph, share, workplace));
    std::vector<ChannelGroups::Group> lost;
    for (const ChannelGroups::Family& family : families)
      for (ChannelGroups::Group& group : weakest(family, shares.at(family.name))) lost.push_back(std::move(group));
    return channels.without(lost);
  }

  double keep_ = 0.5;
  std::int64_t rounds_ = 2;
  std::string by_ = std::string(kFamilyDivisions[0].name);
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
