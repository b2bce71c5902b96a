#include "mangrove/cluster/straggler.h"

#include <algorithm>
#include <vector>

#include "mangrove/base/median.h"

namespace mangrove::cluster {
namespace {

constexpr double kWellAbove = 1.5;

}  // namespace

std::optional<std::size_t> straggler(std::span<const Seconds> compute) {
  if (compute.empty()) return {};
  const auto slowest = std::max_element(compute.begin(), compute.end());
  std::vector<Seconds> others;
  for (auto node = compute.begin(); node != compute.end(); ++node)
    if (node != slowest && *node > 0) others.push_back(*node);
  if (others.empty() || *slowest <= kWellAbove * median(others)) return {};
  return static_cast<std::size_t>(slowest - compute.begin());
}

}  // namespace mangrove::cluster
