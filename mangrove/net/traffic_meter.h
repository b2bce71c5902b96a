#pragma once

#include "mangrove/base/mutex.h"
#include "mangrove/net/endpoint.h"

namespace mangrove::net {

/// Counts the bytes of one endpoint. threads: any thread may call any method.
class TrafficMeter {
 public:
  void sent(Rank to, Tag tag, std::size_t bytes) { count(to, tag, {static_cast<std::int64_t>(bytes), 0}); }
  void received(Rank from, Tag tag, std::size_t bytes) { count(from, tag, {0, static_cast<std::int64_t>(bytes)}); }
  Traffic read() const {
    MutexLock lock(mutex_);
    return traffic_;
  }

 private:
  void count(Rank peer, Tag tag, const Flow& flow) {
    MutexLock lock(mutex_);
    traffic_ += flow;
    traffic_.by_peer[{peer, purpose_of(tag)}] += flow;
  }

  mutable Mutex mutex_;
  Traffic traffic_ MG_GUARDED_BY(mutex_);
};

}  // namespace mangrove::net
