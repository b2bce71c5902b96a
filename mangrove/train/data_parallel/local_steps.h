#pragma once

#include <optional>
#include <span>
#include <vector>

#include "mangrove/job/role.h"
#include "mangrove/learn/optimizer.h"
#include "mangrove/learn/replica.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/replica_pool.h"
#include "mangrove/train/source.h"
#include "mangrove/train/step_timer.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// What a worker needs to make steps of its own: values, and the job's optimizer, which works in the replica's own
/// buffers. The optimizer's state (e.g. a velocity) is kept from one work to the next, even if the values are replaced
/// in between.
/// threads: one at a time.
class LocalSteps final : private ReplicaPool::ReplicaUser {
 public:
  /// interruption: receives the work that ends a run.
  LocalSteps(const learn::OptimizerOptions& optimizer, const TrainJob& job, job::RoleContext& context,
             std::optional<net::Message>& interruption);

  /// Whether the work has as many learning rates as it has steps.
  bool accepts(const Work& work) const;
  void set_values(std::span<const float> values) { values_.assign(values.begin(), values.end()); }
  /// The values after the last work, or those that were set since. See GlobalModel.
  std::span<const float> values() const { return values_; }
  /// Frees the memory of the values; nobody will ask for them.
  void drop_values() { std::vector<float>().swap(values_); }

  /// Makes the steps of this work, each on a batch of its samples. The first pass takes the samples in their order,
  /// later passes in a random order. It tells the leader now and then how far it is, and tells the timer when it loads
  /// and when it computes. Returns nothing if the leader has other work. errors: those of Optimizer::create, the loader
  /// and the pool; cancelled; unavailable (the leader is gone).
  Result<std::optional<learn::BatchStats>> run(const Work& work, ReplicaPool& bench, StepTimer& timer);

 private:
  struct Batch {
    Source::Samples samples;
    std::int64_t epoch;
  };
  std::vector<Batch> batches(const Work& work) const;
  Result<std::optional<learn::BatchStats>> make_steps(const Work& work, ReplicaPool& bench, StepTimer& timer);
  Status load(learn::Replica& replica) override;
  void evict(learn::Replica& replica) override;
  void read(learn::Replica& replica, std::vector<float>& values);
  Result<bool> is_interrupted();
  void tell_leader(std::uint64_t round, std::int64_t done);

  const learn::OptimizerOptions optimizer_options_;
  const TrainJob& job_;
  job::RoleContext& context_;
  std::vector<float> values_, laid_aside_;  // laid aside: values of a run that waits while others compute
  std::optional<learn::Optimizer> optimizer_;
  std::int64_t steps_ = 0;  // steps of the optimizer
  Instant last_told_;
  std::optional<net::Message>& interruption_;
};

}  // namespace mangrove::train
