#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/infer/tiers/exits_job.h"

namespace mangrove::infer {

constexpr int kViews = 4;
constexpr net::Rank kUpper = kViews + 1;  // the first rank without a view
// ddnn-4 of 28 x 28 pixels: views of 14 x 14, pooled twice to 3 x 3, of 4 channels
constexpr Bytes kScores = 10 * 4, kFeatures = 4 * 3 * 3 * 4;

Graph ddnn(const std::string& fusions = "average-concat");

InferJob views_job(const Graph& graph, const std::vector<float>& thresholds);

/// In virtual time.
RoleWorld::Outcome infer_views(
    const InferJob& job, int nodes, const std::function<void(RoleWorld&)>& prepare = [](RoleWorld&) {});

/// What the network says to each image on one device, without these views, from 1.
class OnOneDevice {
 public:
  OnOneDevice(Graph graph, std::vector<float> thresholds)
      : graph_(std::move(graph)), thresholds_(std::move(thresholds)) {}
  const AllLeft& without(const std::set<int>& lost);

 private:
  const Graph graph_;
  const std::vector<float> thresholds_;
  std::map<std::set<int>, AllLeft> all_;
};

/// Every image was answered once, and as the network answers it on one device without the views that were lost then.
/// Returns the views that were lost for some.
std::set<int> expect_right(const RoleWorld::Outcome& outcome, OnOneDevice& network, const std::string& where);

}  // namespace mangrove::infer
