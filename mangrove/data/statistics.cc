#include "mangrove/data/statistics.h"

#include <algorithm>
#include <cmath>

namespace mangrove::data {

Status visit_samples(const Dataset& dataset, const std::function<void(std::span<const float>)>& visit) {
  const std::uint64_t count = std::min(dataset.size(), kStatisticsSamples);
  std::vector<float> sample(static_cast<std::size_t>(dataset.sample_shape().elements()));
  for (std::uint64_t i = 0; i < count; ++i) {
    MG_RETURN_IF_ERROR(dataset.read(static_cast<std::uint32_t>(i * dataset.size() / count), sample));
    visit(sample);
  }
  return {};
}

Result<ChannelStatistics> channel_statistics(const Dataset& dataset) {
  const auto channels = static_cast<std::size_t>(dataset.sample_shape()[0]);
  std::vector<double> sums(channels), squares(channels);
  double values = 0;  // of one channel
  MG_RETURN_IF_ERROR(visit_samples(dataset, [&](std::span<const float> sample) {
    const std::size_t plane = sample.size() / channels;
    for (std::size_t c = 0; c < channels; ++c) {
      double sum = 0, square = 0;
      for (const float value : sample.subspan(c * plane, plane)) {
        sum += value;
        square += static_cast<double>(value) * value;
      }
      sums[c] += sum;
      squares[c] += square;
    }
    values += static_cast<double>(plane);
  }));
  ChannelStatistics statistics;
  for (std::size_t c = 0; c < channels; ++c) {
    const double mean = sums[c] / values;
    statistics.mean.push_back(mean);
    statistics.deviation.push_back(std::sqrt(std::max(0.0, squares[c] / values - mean * mean)));
  }
  return statistics;
}

}  // namespace mangrove::data
