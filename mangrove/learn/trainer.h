#pragma once

#include <functional>
#include <memory>

#include "mangrove/data/dataset.h"
#include "mangrove/learn/checkpoint.h"
#include "mangrove/learn/metrics.h"
#include "mangrove/learn/optimizer.h"
#include "mangrove/learn/replica.h"

namespace mangrove::learn {

/// Training on one device without a cluster: the reference that every distributed strategy is compared with.
/// One step: the gradient of the mean loss over the batch (the last batch of an epoch may be smaller), then SGD.
class Trainer {
 public:
  struct Options {
    ReplicaOptions replica;
    SgdOptions sgd;
    Schedule schedule = Schedule::constant;
    std::int64_t warmup_steps = 0;
    std::int64_t total_steps = 0;  // for the schedule
    std::uint64_t seed = 1;        // of the order of the samples
  };
  static Result<std::unique_ptr<Trainer>> create(const Graph& graph, std::shared_ptr<const data::Dataset> dataset,
                                                 const Options& options);
  ~Trainer();

  /// One step on the next batch of the epoch; starts the next epoch when one is done.
  Result<BatchStats> step();
  std::int64_t steps_done() const;
  std::int64_t epochs_done() const;
  Replica& replica();

  Checkpoint checkpoint();
  /// Continues from a checkpoint. errors: invalid_argument (other number of parameters).
  Status restore(const Checkpoint& checkpoint);

 private:
  struct Impl;
  explicit Trainer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Runs the whole data set through the network.
Result<ConfusionMatrix> evaluate(Replica& replica, std::shared_ptr<const data::Dataset> dataset);

}  // namespace mangrove::learn
