#include "mangrove/cluster/rate_limit.h"

namespace mangrove::cluster {
namespace {

constexpr Seconds kMinute = 60;
constexpr std::size_t kMany = 1024;

}  // namespace

Status RateLimit::take(const std::string& who, Instant now) {
  MutexLock lock(mutex_);
  if (minutes_.size() >= kMany) std::erase_if(minutes_, [now](const auto& one) { return now >= one.second.end; });
  Minute& minute = minutes_[who];
  if (now >= minute.end) minute = {.end = now + kMinute};
  if (minute.times >= a_minute_)
    return make_error(Code::resource_exhausted, "too many " + what_ + " within a minute: at most " +
                                                    std::to_string(a_minute_) + "; try again later");
  ++minute.times;
  return {};
}

std::string address_of(const std::string& peer) {
  return peer.substr(0, peer.rfind(':'));
}

}  // namespace mangrove::cluster
