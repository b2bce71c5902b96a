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

namespace mangrove::train {

/// The parts of a data-parallel worker that do not depend on its way of exchange: its samples, its replica of the
/// network, a timer, and its answers to the leader. threads: one at a time.
class Trainee {
 public:
  /// interruption: receives the work that ends other work. errors: those of hyperparameters_of and ReplicaPool::of.
  static Result<std::unique_ptr<Trainee>> create(const TrainJob& job, const Graph& graph, job::RoleContext& context,
                                                 ShardFetcher* fetcher, std::optional<net::Message>& interruption);

  const TrainJob& job() const { return job_; }
  const Hyperparameters& recipe() const { return recipe_; }
  job::RoleContext& context() { return context_; }
  ReplicaPool& pool() { return *pool_; }
  StepTimer& timer() { return timer_; }
  std::optional<net::Message>& interruption() { return interruption_; }
  /// Bytes of the last work together with those of the last answer.
  std::size_t transferred_bytes() const { return sent_bytes_ + received_bytes_; }

  /// Work has come, in a message of this length.
  void take(const Work& work, std::size_t bytes);

  /// Loads the samples of a training step, and begins to load those of the next step. Returns nothing if the leader has
  /// other work. errors: those of Source.
  Result<std::optional<data::Batch>> load(const Work& work);

  struct Step {
    data::Batch batch;
    learn::Replica* replica;
  };
  /// A training step up to its forward pass: load(), and the values are written into the replica. read_values: writes
  /// the values of the work into a span as long as pool().flat(). Returns nothing if the leader has other work. errors:
  /// those of load() and ReplicaPool::training.
  Result<std::optional<Step>> begin_step(const Work& work, const std::function<void(std::span<float>)>& read_values);

  /// Sends an answer. Its body is `update`, which is encoded already, and `values` behind it.
  void answer(Answer answer, std::uint64_t round, std::span<const float> values, std::string_view update = {});

 private:
  Trainee(const TrainJob& job, job::RoleContext& context, std::optional<net::Message>& interruption)
      : job_(job), context_(context), timer_(context), interruption_(interruption) {}

  const TrainJob& job_;
  job::RoleContext& context_;
  Hyperparameters recipe_;
  std::shared_ptr<ReplicaPool> pool_;  // simulated devices may share it
  StepTimer timer_;
  std::optional<net::Message>& interruption_;
  std::size_t sent_bytes_ = 0, received_bytes_ = 0;
};

Answer answer_with(const learn::BatchStats& stats);

}  // namespace mangrove::train
