#include "mangrove/cluster/refusals.h"

#include <utility>

#include "mangrove/base/log.h"

namespace mangrove::cluster {
namespace {

constexpr Seconds kLineEvery = 10;  // for one reason

}  // namespace

const char* refusal_name(Refusal why) {
  switch (why) {
    case Refusal::not_allowed:
      return "not_allowed";
    case Refusal::bad_join_string:
      return "bad_join_string";
    case Refusal::too_many_joins:
      return "too_many_joins";
    case Refusal::too_many_renewals:
      return "too_many_renewals";
    case Refusal::too_many_jobs:
      return "too_many_jobs";
    case Refusal::too_many_streams:
      return "too_many_streams";
    case Refusal::message_too_long:
      return "message_too_long";
    case Refusal::impossible_numbers:
      return "impossible_numbers";
    case Refusal::answers_not_read:
      return "answers_not_read";
    case Refusal::no_room_for_message:
      return "no_room_for_message";
    case Refusal::rank_of_another:
      return "rank_of_another";
  }
  return "unknown";
}

void Refusals::count(Refusal why, const std::string& peer, const std::string& message) {
  std::int64_t before = 0;  // that no line told of
  {
    MutexLock lock(mutex_);
    Counter& counter = counters_[why];
    ++counter.count;
    const Instant now = clock_.now();
    if (counter.logged && now - *counter.logged < kLineEvery) {
      ++counter.unlogged;
      return;
    }
    counter.logged = now;
    before = std::exchange(counter.unlogged, 0);
  }
  log_warn("refused", {{"what", refusal_name(why)}, {"peer", peer}, {"reason", message}, {"others_before", before}});
}

std::map<std::string, std::int64_t> Refusals::counts() const {
  MutexLock lock(mutex_);
  std::map<std::string, std::int64_t> counts;
  for (const auto& [why, counter] : counters_) counts[refusal_name(why)] = counter.count;
  return counts;
}

}  // namespace mangrove::cluster
