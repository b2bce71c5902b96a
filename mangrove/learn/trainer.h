#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/data/augment/augmentation.h"
#include "mangrove/data/dataset.h"
#include "mangrove/data/loader.h"
#include "mangrove/learn/checkpoint.h"
#include "mangrove/learn/evaluate.h"
#include "mangrove/learn/optimizer.h"
#include "mangrove/learn/replica.h"
#include "mangrove/learn/schedule.h"

namespace mangrove::learn {

/// Training on one device without a cluster: the reference that every distributed strategy is compared with.
/// One step: the gradient of the mean loss over the batch (the last batch of an epoch may be smaller), then the
/// optimiser.
/// threads: one at a time.
class Trainer {
 public:
  struct Options {
    ReplicaOptions replica;  // its mode is always training
    OptimizerOptions optimizer;
    float learning_rate = 0.1f;  // at the top of the schedule
    ScheduleOptions schedule;
    std::int64_t total_steps = 0;  // where the schedule ends; needed by cosine and one_cycle
    float ema_decay = 0;           // of the average of the weights that model() has; 0: none, it has the weights
    std::uint64_t seed = 1;        // of the order of the samples, of their augmentation and of dropout
    std::shared_ptr<const data::Augmentation> augmentation = {};  // null: samples as they are
  };
  /// errors: those of Replica::create, Optimizer::create and Schedule::create; invalid_argument (a data set that is
  /// empty or does not fit the graph, a schedule without the total_steps that it needs, ema_decay).
  static Result<std::unique_ptr<Trainer>> create(const Graph& graph, std::shared_ptr<const data::Dataset> dataset,
                                                 const Options& options);

  /// One step on the next batch of the epoch; starts the next epoch when one is done.
  /// errors: those of Loader::next; the trainer is then where its last successful step left it, and can only be
  /// restored.
  Result<BatchStats> step();
  std::int64_t steps_done() const { return steps_done_; }
  std::int64_t epochs_done() const { return epochs_done_; }
  float learning_rate() const;  // of the next step
  Replica& replica() { return *replica_; }

  /// What is done to the gradients before each update, and to the parameters after it: constraints on them. Both lie
  /// as replica().execution().parameters() says.
  void on_update(std::function<void()> before, std::function<void()> after) {
    before_update_ = std::move(before);
    after_update_ = std::move(after);
  }
  /// What gives the target rows of a batch in place of its labels; see Targets::dense. They are used before it is
  /// called again.
  void set_targets(std::function<std::span<const float>(const data::Batch&)> targets) { targets_ = std::move(targets); }

  /// The trained network, as it is evaluated and exported: with the average of the weights where there is one.
  Graph model();
  /// Runs a data set through model(). errors: those of Replica::create and learn::evaluate.
  Result<Evaluation> evaluate(std::shared_ptr<const data::Dataset> dataset, std::stop_token stop = {});
  /// The validation loss after an epoch, for schedules that go by it.
  void observe(double validation_loss) { schedule_.observe(validation_loss); }

  /// Without a job text or a best model: the trainer knows none.
  Checkpoint checkpoint();
  /// Continues from a checkpoint, with results bit-equal to those without the interruption if graph, data set and
  /// options are the same. errors: invalid_argument (numbers of parameters or samples that do not fit, another
  /// micro-batch; nothing is changed).
  Status restore(const Checkpoint& checkpoint);

 private:
  Trainer(std::unique_ptr<Replica> replica, std::shared_ptr<const data::Dataset> dataset, const Options& options,
          Optimizer optimizer, Schedule schedule);
  void visit(std::vector<std::uint32_t> samples);
  std::vector<std::uint32_t> order_of(std::int64_t epoch) const;
  void request_next_epoch();
  void update_parameters();
  Status check_checkpoint(const Checkpoint& checkpoint) const;
  using Arrays = std::vector<std::span<float>>;  // parallel to views_, and laid out like them
  std::vector<float> to_flat(const Arrays& laid_out);
  void from_flat(std::span<const float> flat, const Arrays& laid_out);
  Arrays slot(std::size_t slot);
  Arrays average();

  std::unique_ptr<Replica> replica_;
  std::shared_ptr<const data::Dataset> dataset_;
  Options options_;
  SteadyClock clock_;
  std::vector<Execution::ParameterView> views_;
  Optimizer optimizer_;
  Schedule schedule_;
  std::vector<std::vector<float>> average_;  // of the weights, parallel to views_; empty without EMA
  std::function<void()> before_update_, after_update_;
  std::function<std::span<const float>(const data::Batch&)> targets_;
  std::unique_ptr<data::Loader> loader_;
  std::vector<std::uint32_t> order_;  // samples of this epoch (after a restore: of the rest of it)
  std::size_t visited_ = 0;           // how many of them
  std::int64_t next_epoch_ = 0;       // the first that is not requested yet
  std::int64_t steps_done_ = 0;
  std::int64_t epochs_done_ = 0;
  BatchStats epoch_stats_;
  Seconds train_seconds_ = 0;
};

}  // namespace mangrove::learn
