#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "mangrove/base/clock.h"
#include "mangrove/base/mutex.h"
#include "mangrove/cluster/client.h"

namespace mangrove::dashboard {

/// The state of the cluster for all who watch it: the coordinator is asked once a second however many they are, and
/// not at all when nobody watches. threads: any thread may call any method.
class ClusterFeed {
 public:
  /// client: must outlive it.
  explicit ClusterFeed(cluster::Client& client);

  struct State {
    std::int64_t number = 0;  // one higher with each; 0: there was none yet
    std::string json;         // see cluster::cluster_json(); "": never heard of
    std::string problem;      // why the coordinator has not answered; "": it has
  };
  /// The newest state once it is newer than this one, and not older than the first look of a watcher. Nothing: there
  /// was none when so much time had passed, or a stop was requested.
  std::optional<State> wait_for_newer(std::int64_t number, Seconds at_most, const std::stop_token& stop);

 private:
  void watch(const std::stop_token& stop);
  void ask(const std::stop_token& stop);
  bool is_watched() const MG_REQUIRES(mutex_);

  cluster::Client& client_;
  const SteadyClock clock_;
  Mutex mutex_;
  Condition changed_;
  State state_ MG_GUARDED_BY(mutex_);
  Instant looked_ MG_GUARDED_BY(mutex_);  // somebody, the last time
  std::jthread watcher_;
};

}  // namespace mangrove::dashboard
