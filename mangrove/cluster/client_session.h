#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/sync_stream.h>

#include <memory>
#include <optional>

#include "mangrove/base/clock.h"
#include "mangrove/cluster/cluster.pb.h"
#include "mangrove/cluster/gate.h"
#include "mangrove/cluster/job_queue.h"
#include "mangrove/cluster/outbox.h"
#include "mangrove/net/credentials.h"

namespace mangrove::cluster {

using ClientStream = grpc::ServerReaderWriter<ToClient, FromClient>;

/// One client and its job, from the stream's first message to its end.
/// threads: one calls serve().
class ClientSession {
 public:
  /// caller: the client's certificate; nothing: links are in plain text.
  ClientSession(grpc::ServerContext* context, ClientStream* stream, const Gate& gate, std::optional<net::Caller> caller,
                const Clock& clock);

  /// Begins the job, or finds the one to be followed, sends its reports and how it ended. A client that began its job
  /// and vanishes stops it, unless that is kept (see Job): nobody would get its result. One that only follows never
  /// does. Either stops it by a message Stop. Both must own it (see Gate::check_owner). errors: unavailable: the
  /// coordinator ends, and the job goes on when it is back.
  Status serve(FromClient first, JobQueue& jobs);

 private:
  Result<std::shared_ptr<Job>> begin(FromClient first, JobQueue& jobs);
  Status follow(Job& job);
  Status send_past(const std::string& job_id, JobQueue& jobs);
  void record(const std::string& job_id, const Status& outcome);
  void send(Report report);
  void send_end(const Status& status);
  void listen(const std::shared_ptr<Job>& job);
  bool hung_up();
  void await_hang_up();

  grpc::ServerContext* const context_;
  ClientStream* const stream_;
  const Gate& gate_;
  const std::optional<net::Caller> caller_;
  const Clock& clock_;
  bool owns_job_ = false;  // this client began it; set before the listener starts
  Outbox<ToClient> outbox_;
  Mutex mutex_;
  Condition changed_;
  bool hung_up_ MG_GUARDED_BY(mutex_) = false;
};

}  // namespace mangrove::cluster
