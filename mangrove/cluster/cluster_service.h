#pragma once

#include <memory>

#include "mangrove/base/clock.h"
#include "mangrove/cluster/gate.h"
#include "mangrove/cluster/job_queue.h"
#include "mangrove/cluster/membership.h"
#include "mangrove/cluster/message_limits.h"

namespace grpc {
class Service;
}

namespace mangrove::cluster {

struct ClusterServiceOptions {
  Seconds heartbeat_interval = 0.5;
  Seconds silence_limit = 3;                 // told to the nodes
  Seconds greeting_limit = 10;               // for the first message of a stream
  Bytes longest_message = kLongestPossible;  // told to nodes and clients
};

/// The coordinator's side of cluster.proto: serves the callers that the gate admits, and turns streams into calls of
/// Membership and JobQueue. threads: any thread may call any method.
class ClusterService {
 public:
  ClusterService(Membership& membership, JobQueue& jobs, const Gate& gate, const Clock& clock,
                 const ClusterServiceOptions& options);
  ~ClusterService();  // the server must have shut down

  grpc::Service& service();

  /// Ends streams that were opened and have said nothing since. To be called now and then.
  void cut_mute_streams(Instant now);
  /// Ends the streams of callers whose certificates have expired. Must be called now and then.
  void cut_expired(identity::WallTime now);
  /// Ends the streams of revoked members, and tells the nodes which certificates are revoked.
  void cut_revoked();
  /// Waits for the clients' streams to end, until the deadline, then cuts every stream, old and new.
  void shutdown(Deadline deadline);

 private:
  class Service;
  std::unique_ptr<Service> service_;
};

}  // namespace mangrove::cluster
