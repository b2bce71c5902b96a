#pragma once

#include "mangrove/base/clock.h"
#include "mangrove/cluster/cluster.pb.h"

namespace mangrove::cluster {

/// Bytes per second lately, from the counters in heartbeats.
/// threads: one at a time.
class TrafficRate {
 public:
  /// Heartbeats that follow each other closely (one more is sent when a role ends) are taken together.
  void update(const ResourceUse& use, Instant now) {
    constexpr Seconds kShortest = 0.05;
    const Seconds seconds = now - since_;
    if (seconds < kShortest) return;
    if (started_) {
      sent_ = static_cast<double>(use.sent_bytes() - sent_before_) / seconds;
      received_ = static_cast<double>(use.received_bytes() - received_before_) / seconds;
    }
    started_ = true;
    since_ = now;
    sent_before_ = use.sent_bytes();
    received_before_ = use.received_bytes();
  }
  double sent() const { return sent_; }
  double received() const { return received_; }

 private:
  bool started_ = false;
  Instant since_;
  std::int64_t sent_before_ = 0, received_before_ = 0;
  double sent_ = 0, received_ = 0;
};

}  // namespace mangrove::cluster
