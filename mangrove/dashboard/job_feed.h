#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "mangrove/base/mutex.h"
#include "mangrove/base/report.h"
#include "mangrove/dashboard/coordinator_client.h"

namespace mangrove::dashboard {

constexpr const char* kEnd = "end";  // the name of a feed's last entry

/// What one job tells, for any number of readers: from its beginning as far as the coordinator keeps it, to its end.
/// The coordinator is asked once however many they are. threads: any thread may call any method.
class JobFeed {
 public:
  /// Follows the job in a thread of its own.
  JobFeed(std::string job, Connect connect);

  struct Entry {
    std::uint64_t number;  // higher than those before
    std::string name;      // "progress", "event", "nodes", "epoch", "line", "result", or "end" as the last one
    std::string json;      // of the report; of "end": "state" and "message", see docs/dashboard.md
  };
  /// What came after the entry with this number (0: all that is kept), once there is something, or when so much time
  /// has passed or a stop is requested. Of progress and nodes only the newest is kept.
  std::vector<Entry> wait_for_more(std::uint64_t number, Seconds at_most, const std::stop_token& stop);
  /// It has ended and the job perhaps not: the coordinator was lost, or has refused to tell.
  bool is_stale() const;

 private:
  void follow(const std::stop_token& stop);
  bool is_told(const std::vector<std::uint64_t>& numbers, const std::string& json) const MG_REQUIRES(mutex_);
  void add(std::string name, std::string json);

  const std::string job_;
  const Connect connect_;
  mutable Mutex mutex_;
  Condition changed_;
  std::map<std::uint64_t, Entry> entries_ MG_GUARDED_BY(mutex_);
  std::map<std::string, std::vector<std::uint64_t>> numbers_ MG_GUARDED_BY(mutex_);  // of those with a name, in order
  std::uint64_t last_ MG_GUARDED_BY(mutex_) = 0;
  bool is_stale_ MG_GUARDED_BY(mutex_) = false;
  std::jthread follower_;
};

/// The feeds of all jobs that somebody reads, and of the last ones that somebody has read.
/// threads: any thread may call any method.
class JobFeeds {
 public:
  explicit JobFeeds(Connect connect) : connect_(std::move(connect)) {}

  /// errors: resource_exhausted (so many jobs are followed that another cannot be).
  Result<std::shared_ptr<JobFeed>> find(const std::string& job);

 private:
  std::shared_ptr<JobFeed> make_place() MG_REQUIRES(mutex_);

  struct Row {
    std::shared_ptr<JobFeed> feed;
    std::uint64_t used;  // the last time, as a number that grows
  };
  const Connect connect_;
  Mutex mutex_;
  std::map<std::string, Row> feeds_ MG_GUARDED_BY(mutex_);
  std::uint64_t uses_ MG_GUARDED_BY(mutex_) = 0;
};

}  // namespace mangrove::dashboard
