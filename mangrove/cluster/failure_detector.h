#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/base/units.h"

namespace mangrove::cluster {

/// One stay of a node in the cluster: a node that joins again gets a new one.
using MemberId = std::uint64_t;

/// Says who has been silent for too long. Knows no clock: the caller brings the time.
/// threads: one at a time.
class FailureDetector {
 public:
  explicit FailureDetector(Seconds silence_limit) : silence_limit_(silence_limit) {}

  void heard_from(MemberId member, Instant now);
  void forget(MemberId member);

  /// Those silent for longer than the limit; they are forgotten. To be asked several times within the limit: after a
  /// longer gap it was this process that stood still (suspended, swapped out), the heartbeats still wait in its
  /// sockets, and the gap is not counted as anybody's silence.
  std::vector<MemberId> lost(Instant now);

 private:
  Seconds silence_limit_;
  std::map<MemberId, Instant> last_heard_;
  std::optional<Instant> last_asked_;
};

}  // namespace mangrove::cluster
