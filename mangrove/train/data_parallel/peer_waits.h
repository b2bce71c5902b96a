#pragma once

#include <map>
#include <optional>
#include <set>

#include "mangrove/base/clock.h"
#include "mangrove/net/endpoint.h"
#include "mangrove/train/messages.pb.h"

namespace mangrove::train {

/// Which workers wait for whose part of a reduction or a pipeline, as they tell themselves; and from that, which of
/// them stands in the way when all have come to a stand.
/// threads: one at a time.
class PeerWaits {
 public:
  /// The worker begins with this work, whose ranks it may wait for.
  void begin(net::Rank rank, const Work& work);
  /// It waits. False: for a rank that has no part in its work; then nothing is changed.
  bool take(net::Rank rank, const Waiting& waiting, Instant now);
  /// busy: all that have work. Nothing: one of them does not wait, or a part has come to it within the timeout. Else an
  /// end of a link on which parts were lost, or the rank that most of them wait for.
  std::optional<net::Rank> stuck_on(const net::RankSet& busy, Instant now, Seconds timeout) const;

 private:
  struct Wait {
    std::set<net::Rank> peers;
    Waiting last;   // what it has told; rank 0: nothing
    Instant since;  // without a part
  };
  std::map<net::Rank, Wait> waits_;
};

}  // namespace mangrove::train
