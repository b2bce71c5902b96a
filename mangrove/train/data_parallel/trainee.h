#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "mangrove/data/loader.h"
#include "mangrove/graph/graph.h"
#include "mangrove/job/role.h"
#include "mangrove/learn/replica.h"
#include "mangrove/train/hyperparameters.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/replica_pool.h"
#include "mangrove/train/shards/fetcher.h"
#include "mangrove/train/step_timer.h"
#include "mangrove/train/train.pb.h"
#include "mangrove/train/transfer_stats.h"

namespace mangrove::train {

/// What a worker of data parallelism learns with, whatever way its updates take: its samples, its replica of the
/// network, a timer, and its answers to the leader. threads: one at a time.
class Trainee {
 public:
  /// interruption: gets the work that ends other work. errors: those of hyperparameters_of and ReplicaPool::of.
  static Result<std::unique_ptr<Trainee>> create(const TrainJob& job, const Graph& graph, job::RoleContext& context,
                                                 ShardFetcher* fetcher, std::optional<net::Message>& interruption);

  const TrainJob& job() const { return job_; }
  const Hyperparameters& recipe() const { return recipe_; }
  job::RoleContext& context() { return context_; }
  ReplicaPool& pool() { return *pool_; }
  StepTimer& timer() { return timer_; }
  std::optional<net::Message>& interruption() { return interruption_; }
  /// Bytes of the last work and of the last answer.
  std::size_t exchanged_bytes() const { return sent_bytes_ + received_bytes_; }

  /// Work of so many bytes has come.
  void take(const Work& work, std::size_t bytes);

  struct Step {
    data::Batch batch;
    learn::Replica* replica;
  };
  /// A training step up to its forward pass: loads the samples, begins to load those of the next step, and writes the
  /// values into the replica. read_values: writes the values of the work, as many as pool().flat() has. Nothing: the
  /// leader has other work. errors: those of Source and ReplicaPool::training.
  Result<std::optional<Step>> begin_step(const Work& work, const std::function<void(std::span<float>)>& read_values);

  /// Sends an answer with `update`, which is encoded, and `values` behind it.
  void answer(Answer answer, std::uint64_t round, std::span<const float> values, std::string_view update = {});

 private:
  Trainee(const TrainJob& job, job::RoleContext& context, std::optional<net::Message>& interruption)
      : job_(job), context_(context), timer_(context), interruption_(interruption) {}

  const TrainJob& job_;
  job::RoleContext& context_;
  Hyperparameters recipe_;
  std::shared_ptr<ReplicaPool> pool_;  // perhaps others': see there
  StepTimer timer_;
  std::optional<net::Message>& interruption_;
  std::size_t sent_bytes_ = 0, received_bytes_ = 0;
};

Answer answer_with(const learn::BatchStats& stats);
/// What went to other workers.
void tell_exchanged(const TransferStats& exchanged, Answer& answer);

}  // namespace mangrove::train
