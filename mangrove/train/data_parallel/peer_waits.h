#pragma once

#include <map>
#include <optional>
#include <set>

#include "mangrove/base/clock.h"
#include "mangrove/net/endpoint.h"
#include "mangrove/train/messages.pb.h"

namespace mangrove::train {

/// Which worker waits for a part of a reduction or pipeline from which other worker, by the workers' own messages. From
/// that it finds the worker that blocks the others when all have stopped.
/// threads: one at a time.
class PeerWaits {
 public:
  /// The worker begins with this work. It may wait for the ranks that the work names.
  void begin(net::Rank rank, const Work& work);
  /// The worker says that it waits. Returns false if it waits for a rank that has no part in its work; then nothing is
  /// changed.
  bool take(net::Rank rank, const Waiting& waiting, Instant now);
  /// The rank that blocks the others, when all have stopped: an end of a link on which parts were lost, or else the
  /// rank that most of them wait for. busy: all that have work. Nothing: one of these does not wait, or has received a
  /// part within the timeout.
  std::optional<net::Rank> stuck_on(const net::RankSet& busy, Instant now, Seconds timeout) const;

 private:
  struct Wait {
    std::set<net::Rank> peers;
    Waiting last;   // its last message; rank 0: none yet
    Instant since;  // when it last received a part
  };
  std::map<net::Rank, Wait> waits_;
};

}  // namespace mangrove::train
