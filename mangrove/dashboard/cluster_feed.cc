#include "mangrove/dashboard/cluster_feed.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "mangrove/base/json_dump.h"
#include "mangrove/cluster/cluster_status.h"

namespace mangrove::dashboard {
namespace {

constexpr Seconds kAskEvery = 1;
constexpr Seconds kWatchedFor = 3;     // since somebody has looked
constexpr Seconds kLookForStop = 0.2;  // in every wait

}  // namespace

ClusterFeed::ClusterFeed(cluster::Client& client) : client_(client), looked_(clock_.now() + -2 * kWatchedFor) {
  watcher_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
}

bool ClusterFeed::is_watched() const {
  return clock_.now() < looked_ + kWatchedFor;
}

void ClusterFeed::watch(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    bool is_wanted = false;
    {
      const MutexLock lock(mutex_);
      is_wanted = is_watched();
      if (!is_wanted) changed_.wait_for(mutex_, kLookForStop);
    }
    if (is_wanted) ask(stop);
  }
}

/// And waits until it is time to ask again.
void ClusterFeed::ask(const std::stop_token& stop) {
  const Deadline next = clock_.after(kAskEvery);
  const Result<cluster::ListNodesResponse> status = client_.status(stop);
  std::string json;
  if (status.ok()) json = dump(cluster::cluster_json(client_.coordinator(), *status));
  const MutexLock lock(mutex_);
  ++state_.number;
  if (status.ok()) state_.json = std::move(json);
  state_.problem = status.ok() ? "" : status.error().message;
  changed_.notify_all();
  while (!stop.stop_requested() && clock_.now() < next)
    changed_.wait_for(mutex_, std::min(kLookForStop, next - clock_.now()));
}

std::optional<ClusterFeed::State> ClusterFeed::wait_for_newer(std::int64_t number, Seconds at_most,
                                                              const std::stop_token& stop) {
  const Deadline deadline = clock_.after(at_most);
  const MutexLock lock(mutex_);
  if (!is_watched()) number = state_.number;  // what is there may be old
  looked_ = clock_.now();
  changed_.notify_all();
  while (state_.number <= number && !stop.stop_requested() && clock_.now() < deadline)
    changed_.wait_for(mutex_, std::min(kLookForStop, deadline - clock_.now()));
  return state_.number > number ? std::optional(state_) : std::nullopt;
}

}  // namespace mangrove::dashboard
