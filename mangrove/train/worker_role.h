#pragma once

#include <optional>
#include <string_view>
#include <utility>

#include "mangrove/job/role.h"
#include "mangrove/job/worker_loop.h"
#include "mangrove/train/job_settings.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/shards/fetcher.h"
#include "mangrove/train/tags.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// What all kinds of training workers share: the orders of a job::WorkerLoop are pieces of work. A kind of worker
/// derives from it, describes its data, and does the work.
class WorkerRole : public job::WorkerLoop {
 protected:
  /// fetcher: null if the data is in the data folder.
  WorkerRole(const TrainJob& job, job::RoleContext& context, ShardFetcher* fetcher)
      : WorkerLoop(context, kWorkTag), job_(job), fetcher_(fetcher) {}
  ~WorkerRole() = default;

  /// Describes the data. Called only after the worker is prepared.
  virtual void describe(Hello& hello) = 0;
  /// Does work that is not a ping and not the end. errors: the worker cannot take part any more.
  virtual Status handle(const Work& work, std::string_view body) = 0;

  const TrainJob& job_;
  ShardFetcher* const fetcher_;
  std::optional<net::Message> interruption_;  // the work that ended other work
  std::size_t received_bytes_ = 0;            // length of the last work

 private:
  void say_hello(const Status& status) final;
  Order read(const net::Message& message) final;
  std::optional<net::Message> next_postponed() final { return std::exchange(interruption_, std::nullopt); }
};

/// Plays a role, with a fetcher if the job's data comes from the cluster.
template <class Role>
Status play_worker(const TrainJob& job, job::RoleContext& context) {
  MG_TRY(const bool from_cluster, is_from_cluster(job));
  // simulated devices read from one data folder
  if (!from_cluster || context.device.is_simulated()) return Role(job, context, nullptr).run();
  ShardFetcher fetcher(job, context);
  return Role(job, fetcher.context(), &fetcher).run();
}

}  // namespace mangrove::train
