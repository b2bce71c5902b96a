#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/data/dataset.h"
#include "mangrove/data/loader.h"
#include "mangrove/learn/checkpoint.h"
#include "mangrove/learn/metrics.h"
#include "mangrove/learn/optimizer.h"
#include "mangrove/learn/replica.h"

namespace mangrove::learn {

/// Training on one device without a cluster: the reference that every distributed strategy is compared with.
/// One step: the gradient of the mean loss over the batch (the last batch of an epoch may be smaller), then SGD.
/// threads: one at a time.
class Trainer {
 public:
  struct Options {
    ReplicaOptions replica;  // its mode is always training
    SgdOptions sgd;          // the learning rate at the top of the schedule
    Schedule schedule = Schedule::constant;
    std::int64_t warmup_steps = 0;
    std::int64_t total_steps = 0;  // where the schedule ends; needed by cosine
    std::uint64_t seed = 1;        // of the order of the samples
  };
  /// errors: those of Replica::create; invalid_argument (a data set that is empty or does not fit the graph, a cosine
  /// without total_steps).
  static Result<std::unique_ptr<Trainer>> create(const Graph& graph, std::shared_ptr<const data::Dataset> dataset,
                                                 const Options& options);

  /// One step on the next batch of the epoch; starts the next epoch when one is done.
  /// errors: those of Loader::next; the trainer is then where its last successful step left it, and can only be
  /// restored.
  Result<BatchStats> step();
  std::int64_t steps_done() const { return steps_done_; }
  std::int64_t epochs_done() const { return epochs_done_; }
  Replica& replica() { return *replica_; }

  /// Without a job text: the trainer knows none.
  Checkpoint checkpoint();
  /// Continues from a checkpoint, with results bit-equal to those without the interruption if graph, data set and
  /// options are the same. errors: invalid_argument (numbers of parameters or samples that do not fit; nothing is
  /// changed).
  Status restore(const Checkpoint& checkpoint);

 private:
  Trainer(std::unique_ptr<Replica> replica, std::shared_ptr<const data::Dataset> dataset, const Options& options);
  void visit(std::vector<std::uint32_t> samples);
  void update_parameters();

  std::unique_ptr<Replica> replica_;
  std::shared_ptr<const data::Dataset> dataset_;
  Options options_;
  SteadyClock clock_;
  std::vector<Execution::ParameterView> views_;
  std::vector<std::vector<float>> momentum_;  // parallel to views_, and laid out like them
  std::unique_ptr<data::Loader> loader_;
  std::vector<std::uint32_t> order_;  // samples of this epoch (after a restore: of the rest of it)
  std::size_t visited_ = 0;           // how many of them
  std::int64_t steps_done_ = 0;
  std::int64_t epochs_done_ = 0;
  BatchStats epoch_stats_;
  Seconds train_seconds_ = 0;
};

/// Runs the whole data set through the network.
/// errors: those of check_fits and Loader::next; cancelled (`stop`, looked at between batches).
Result<ConfusionMatrix> evaluate(Replica& replica, std::shared_ptr<const data::Dataset> dataset,
                                 std::stop_token stop = {});

}  // namespace mangrove::learn
