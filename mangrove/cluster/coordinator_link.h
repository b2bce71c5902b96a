#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "mangrove/base/clock.h"
#include "mangrove/base/result.h"
#include "mangrove/base/units.h"
#include "mangrove/cluster/cluster.pb.h"
#include "mangrove/net/credentials.h"

namespace mangrove::cluster {

/// Where a node's coordinator is, and the credentials that the node shows to it.
struct CoordinatorPlace {
  std::string address;                                    // HOST:PORT
  std::shared_ptr<const net::Credentials> credentials{};  // null: plain text
};

/// A node's line to its coordinator, from joining to the end: sends heartbeats, and notices when the coordinator is
/// silent.
/// threads: one calls read(); any thread may call the others.
class CoordinatorLink {
 public:
  using Measure = std::function<ResourceUse()>;  // for a heartbeat; threads: any, one at a time

  /// Joins, trying again until the deadline. errors: unavailable (nobody answers; names the address and what to start),
  /// permission_denied (the coordinator refuses this node), cancelled (stop was requested).
  static Result<std::unique_ptr<CoordinatorLink>> join(const CoordinatorPlace& coordinator,
                                                       const NodeDescription& description, const Measure& measure,
                                                       Deadline deadline, const std::stop_token& stop);
  ~CoordinatorLink();

  /// Its name in the cluster.
  const std::string& name() const;
  /// How long a message to the coordinator may be. Nothing: the coordinator has not said it.
  std::optional<Bytes> longest_message() const;
  /// The next message that is for the node; waits for one. False: the line is down, for good.
  bool read(ToNode& message);
  void send(FromNode message);
  /// A heartbeat now.
  void send_heartbeat();
  /// errors: not_found (it has ended), cancelled (stop was requested), unavailable.
  Result<JobSpec> fetch_job(const std::string& job_id, const std::stop_token& stop);
  /// Says goodbye and takes the line down, within `grace`.
  void leave(Seconds grace);

 private:
  struct Impl;
  explicit CoordinatorLink(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace mangrove::cluster
