#include "mangrove/cluster/failure_detector.h"

#include <algorithm>

namespace mangrove::cluster {

void FailureDetector::heard_from(MemberId member, Instant now) {
  last_heard_[member] = now;
}

void FailureDetector::forget(MemberId member) {
  last_heard_.erase(member);
}

std::vector<MemberId> FailureDetector::lost(Instant now) {
  const Seconds gap = last_asked_ ? now - *last_asked_ : 0;
  if (gap > silence_limit_ / 2)
    for (auto& [member, heard] : last_heard_) heard = std::min(heard + gap, now);
  last_asked_ = now;

  std::vector<MemberId> silent;
  for (const auto& [member, heard] : last_heard_)
    if (now - heard > silence_limit_) silent.push_back(member);
  for (const MemberId member : silent) last_heard_.erase(member);
  return silent;
}

double FailureDetector::suspicion(MemberId member, Instant now) const {
  const auto heard = last_heard_.find(member);
  return heard == last_heard_.end() ? 0 : std::max(0.0, now - heard->second) / interval_;
}

}  // namespace mangrove::cluster
