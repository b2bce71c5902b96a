#pragma once

#include <functional>
#include <vector>

#include "mangrove/data/dataset.h"

namespace mangrove::data {

/// Statistics are taken from no more samples than this.
constexpr std::uint32_t kStatisticsSamples = 10'000;

/// Reads at most kStatisticsSamples samples, evenly spread, and gives each to `visit`. errors: those of Dataset::read.
Status visit_samples(const Dataset& dataset, const std::function<void(std::span<const float>)>& visit);

struct ChannelStatistics {
  std::vector<double> mean, deviation;  // per channel
};
/// Of the values of each channel. errors: those of Dataset::read.
Result<ChannelStatistics> channel_statistics(const Dataset& dataset);

}  // namespace mangrove::data
