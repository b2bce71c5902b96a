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

/// What a worker needs to make steps of its own: values, and the job's optimizer, which works on the replica's own
/// buffers. What it remembers (e.g. a velocity) stays here from one work to the next, whatever becomes of the values in
/// between.
/// threads: one at a time.
class LocalSteps final : private ReplicaPool::ReplicaUser {
 public:
  /// interruption: gets the work that ends a run.
  LocalSteps(const learn::OptimizerOptions& optimizer, const TrainJob& job, job::RoleContext& context,
             std::optional<net::Message>& interruption);

  /// Whether it tells of as many learning rates as it takes steps.
  bool accepts(const Work& work) const;
  void set_values(std::span<const float> values) { values_.assign(values.begin(), values.end()); }
  /// Those of the last work that was done, or that were set since. See GlobalModel.
  std::span<const float> values() const { return values_; }
  /// Nobody will ask for them: their memory is given back.
  void drop_values() { std::vector<float>().swap(values_); }

  /// Makes the steps of this work: each on a batch of its samples, in their order; in a second pass and later ones in a
  /// random order. Tells the leader now and then how far it is, and the timer when it loads and when it computes.
  /// Nothing: the leader has other work. errors: those of Optimizer::create, the loader and the bench; cancelled,
  /// unavailable (the leader is gone).
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
  std::vector<float> values_, laid_aside_;  // laid aside: those of a run that goes on, while others compute
  std::optional<learn::Optimizer> optimizer_;
  std::int64_t steps_ = 0;  // of the optimizer
  Instant last_told_;
  std::optional<net::Message>& interruption_;
};

}  // namespace mangrove::train
