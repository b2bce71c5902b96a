#pragma once

#include <map>
#include <string>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/cluster/cluster.pb.h"
#include "mangrove/cluster/failure_detector.h"

namespace mangrove::cluster {

/// What one node has used of its device for one job.
struct NodeUsage {
  std::string name;
  std::string state;       // "alive", "lost", "left"
  double cpu_percent = 0;  // of one core
  Bytes rss_bytes = 0;
  Bytes sent_bytes = 0;  // since the job began
  Bytes received_bytes = 0;

  static void fields(auto& self, auto& field) {
    field("name", self.name);
    field("state", self.state);
    field("cpu_percent", self.cpu_percent);
    field("rss_bytes", self.rss_bytes);
    field("sent_bytes", self.sent_bytes);
    field("received_bytes", self.received_bytes);
  }
};

/// One node at one moment.
struct NodeSample {
  std::string name;
  Instant taken;    // when its heartbeat came
  ResourceUse use;  // counters since the job began; of the recent steps those that no earlier sample had
};

/// Adds up the heartbeats of a job's nodes.
/// threads: one at a time.
class UsageBook {
 public:
  /// `before` is what the node had used when the job began.
  void add(MemberId node, const std::string& name, const ResourceUse& before, Instant now);
  void sample(MemberId node, const ResourceUse& use, Instant now);  // nodes not added are ignored
  void set_state(MemberId node, const std::string& state);

  std::vector<NodeUsage> now() const;      // CPU and memory of the last sample; in order of adding
  std::vector<NodeUsage> overall() const;  // mean CPU, peak memory
  /// Of the nodes whose heartbeat has come since the last call.
  std::vector<NodeSample> take_samples();

 private:
  struct Entry {
    MemberId node;
    std::string name;
    std::string state;
    ResourceUse before;
    ResourceUse last;
    Instant sampled;
    double cpu_seconds = 0;
    Seconds seconds = 0;
    Bytes peak_rss = 0;
    bool is_new = false;           // `last` is in no sample yet
    std::int64_t step_before = 0;  // the last one in a sample
  };
  std::vector<NodeUsage> rows(bool overall) const;
  Entry* find(MemberId node);  // its last stay
  std::vector<Entry> entries_;
};

}  // namespace mangrove::cluster
