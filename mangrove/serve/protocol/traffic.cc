#include "mangrove/serve/protocol/traffic.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mangrove::serve {
namespace {

constexpr Seconds kShortestLatency = 1e-6;  // upper end of the first bucket
constexpr double kBucketRatio = 1.1;

}  // namespace

TrafficCounts TrafficCounts::since(const TrafficCounts& earlier) const {
  TrafficCounts difference{.answered = answered - earlier.answered,
                           .refused = refused - earlier.refused,
                           .late = late - earlier.late,
                           .failed = failed - earlier.failed,
                           .latencies = latencies};
  for (std::size_t i = 0; i < earlier.latencies.size(); ++i) difference.latencies[i] -= earlier.latencies[i];
  return difference;
}

Seconds TrafficCounts::quantile(double share) const {
  const auto rank = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(answered)));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < latencies.size(); ++i) {
    seen += latencies[i];
    if (seen >= rank && seen > 0) return kShortestLatency * std::pow(kBucketRatio, static_cast<double>(i));
  }
  return 0;
}

void Traffic::answered(Seconds latency) {
  const double bucket =
      std::ceil(std::log(std::max(latency, kShortestLatency) / kShortestLatency) / std::log(kBucketRatio));
  ++latencies_[static_cast<std::size_t>(std::clamp(bucket, 0.0, static_cast<double>(kBuckets - 1)))];
}

TrafficCounts Traffic::counts() const {
  TrafficCounts counts{.answered = 0, .refused = refused_, .late = late_, .failed = failed_, .latencies = {}};
  counts.latencies.assign(latencies_.begin(), latencies_.end());
  counts.answered = std::accumulate(counts.latencies.begin(), counts.latencies.end(), std::uint64_t{0});
  return counts;
}

}  // namespace mangrove::serve
