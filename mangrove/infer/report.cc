#include "mangrove/infer/report.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace mangrove::infer {
namespace {

/// The least latency that such a share of all does not exceed. 0 of none.
Seconds percentile(std::span<const Seconds> ascending, double share) {
  if (ascending.empty()) return 0;
  const double rank = std::ceil(share * static_cast<double>(ascending.size()));
  return ascending[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

}  // namespace

Latency::Latency(std::vector<Seconds> latencies) {
  std::ranges::sort(latencies);
  p50 = percentile(latencies, 0.5);
  p95 = percentile(latencies, 0.95);
  p99 = percentile(latencies, 0.99);
}

std::string NodeLeftOut::sentence() const {
  return node + " will get no work" + job::because(reason);
}

std::string Redone::sentence() const {
  return phase + " was begun anew without " + node;
}

}  // namespace mangrove::infer
