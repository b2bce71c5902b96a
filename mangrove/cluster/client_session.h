#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/sync_stream.h>

#include <memory>

#include "mangrove/base/clock.h"
#include "mangrove/cluster/cluster.pb.h"
#include "mangrove/cluster/job_slot.h"
#include "mangrove/cluster/outbox.h"

namespace mangrove::cluster {

using ClientStream = grpc::ServerReaderWriter<ToClient, FromClient>;

/// One client's job, from the stream's first message to its end.
/// threads: one calls serve().
class ClientSession {
 public:
  ClientSession(grpc::ServerContext* context, ClientStream* stream, const Clock& clock);

  /// Runs the job, sends its reports and how it ended. A client that vanishes stops its job.
  void serve(Job job, JobSlot& jobs);

 private:
  void send(Report report);
  void listen(const std::shared_ptr<JobRun>& run);
  void await_hang_up();

  grpc::ServerContext* const context_;
  ClientStream* const stream_;
  const Clock& clock_;
  Outbox<ToClient> outbox_;
  Mutex mutex_;
  Condition changed_;
  bool hung_up_ MG_GUARDED_BY(mutex_) = false;
};

}  // namespace mangrove::cluster
