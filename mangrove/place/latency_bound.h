#pragma once

#include <string>
#include <utility>
#include <vector>

#include "mangrove/place/evaluation.h"
#include "mangrove/place/problem.h"

namespace mangrove::place {

/// How soon services could be done if each had all devices for itself: no placement is faster. An item is taken to go
/// the fastest way, where routes go that of least delay.
class LatencyBound {
 public:
  explicit LatencyBound(const Problem& problem);

  /// The least latencies of a service. Availability is not set.
  ServiceMeasures least(std::size_t service) const;

 private:
  /// What comes at each device, if it is ready there at these times and sent on in items of so many bytes.
  std::vector<Seconds> spread(std::vector<Seconds> ready, double bytes, bool at_worst) const;

  const Problem& problem_;
  std::vector<std::vector<std::uint32_t>> links_of_;  // by device
};

/// Which service cannot keep its deadline, wherever its tasks are; empty: each one could, alone.
std::string why_late(const Problem& problem);

}  // namespace mangrove::place
