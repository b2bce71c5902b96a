#pragma once

#include <optional>
#include <string_view>

#include "mangrove/net/role.h"
#include "mangrove/train/job_settings.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/shards/fetcher.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// What every worker of training does: it says hello, takes work until the leader has no more, and says so when it
/// cannot go on. A kind of worker derives from it and says what it is ready for, and does the work.
class WorkerRole {
 public:
  /// errors: those of prepare() and handle(), once the leader has been told; cancelled, unavailable (the leader is
  /// gone).
  Status run();

 protected:
  /// fetcher: null where the data is in the data folder.
  WorkerRole(const TrainJob& job, net::RoleContext& context, ShardFetcher* fetcher)
      : job_(job), context_(context), fetcher_(fetcher) {}
  ~WorkerRole() = default;

  /// Once, before it says hello.
  virtual Status prepare() = 0;
  /// Says what data there is. Only when it is prepared.
  virtual void describe(Hello& hello) = 0;
  /// Work other than pings and the end. errors: it cannot take part any more.
  virtual Status handle(const Work& work, std::string_view body) = 0;

  const TrainJob& job_;
  net::RoleContext& context_;
  ShardFetcher* const fetcher_;
  std::optional<net::Message> interruption_;  // the work that ended another
  std::size_t received_bytes_ = 0;            // of the last work

 private:
  Result<net::Message> next_message();
  void say_hello();

  Status failure_;  // why this worker cannot take part
};

/// Plays a role, with a fetcher where the job's data comes from the cluster.
template <class Role>
Status play_worker(const TrainJob& job, net::RoleContext& context) {
  MG_TRY(const bool from_cluster, is_from_cluster(job));
  // simulated devices that share a bench read from one data folder
  if (!from_cluster || context.bench != nullptr) return Role(job, context, nullptr).run();
  ShardFetcher fetcher(job, context);
  return Role(job, fetcher.context(), &fetcher).run();
}

}  // namespace mangrove::train
