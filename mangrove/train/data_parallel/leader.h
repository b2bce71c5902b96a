#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "mangrove/learn/checkpoint.h"
#include "mangrove/train/data_parallel/evaluation.h"
#include "mangrove/train/data_parallel/global_model.h"
#include "mangrove/train/data_parallel/learning_rates.h"
#include "mangrove/train/data_parallel/sample_dealer.h"
#include "mangrove/train/data_parallel/training_progress.h"
#include "mangrove/train/data_parallel/worker_roster.h"
#include "mangrove/train/speed_advisor.h"

namespace mangrove::train {

/// Rank 0 of a training job: what all strategies share. It walks through the epochs, says which samples are to be
/// visited, validates, reports, saves checkpoints and resumes, and tests the network in the end. A strategy derives
/// from it and says how samples become updates. threads: one at a time.
class Leader {
 public:
  Leader(const TrainJob& job, job::RoleContext& context, const Hyperparameters& recipe,
         std::unique_ptr<GlobalModel> model);
  virtual ~Leader() = default;

  /// Plays the role to the end of the job, and ends that of the workers. errors: those of Strategy::run.
  Status run();

 protected:
  /// Gives samples out and takes answers in until there is an update, or something else has changed. Called as long as
  /// the epoch has samples that nobody has learnt from; all must have been counted when it is over.
  virtual Status advance() = 0;
  /// Samples that one step of the schedule learns from while so many workers are there.
  virtual std::int64_t samples_per_step(std::size_t workers) const = 0;
  /// The same of an update, where that is more than a step.
  virtual std::int64_t samples_per_update(std::size_t workers) const { return samples_per_step(workers); }
  /// Epochs that the samples given out stand for: those that a worker goes through its part of them.
  virtual std::int64_t epochs_at_once() const { return 1; }
  /// Brings the global model's values up to date, where updates are not made by it. errors: those of
  /// WorkerRoster::next.
  virtual Status collect() { return {}; }
  /// Classifies the samples of the task with the global model's values. errors: as next_answer().
  virtual Result<Evaluation> classify(const EvaluationTask& task);
  /// A worker with work will not answer it: its samples are for others.
  virtual void drop(const WorkerRoster::Dropped& dropped);
  /// Whether what one worker computes says how fast it would be alone: where each has the whole network.
  virtual bool can_be_advised() const { return true; }
  /// Learning rate of the update where the schedule says so.
  virtual float update_rate(float scheduled) const { return scheduled; }
  /// For the default learning rate (see base_learning_rate): as many workers in step can take as high a one.
  virtual std::size_t workers_in_step(std::size_t workers) const { return workers; }
  /// That of strategies whose workers are apart for a while: their gradients bear less.
  static std::size_t root_of(std::size_t workers);

  const TrainJob& job() const { return job_; }
  job::RoleContext& context() { return context_; }
  WorkerRoster& workers() { return workers_; }
  Reports& reports() { return reports_; }
  SampleLedger& work() { return dealer_.ledger(); }
  std::size_t batch() const { return batch_; }
  std::int64_t step() const { return progress_.step(); }  // updates so far
  std::int64_t samples_per_epoch() const { return samples_per_epoch_; }
  /// That the network is yet to learn from, in all epochs to come.
  std::int64_t samples_left() const { return job_.epochs() * samples_per_epoch_ - progress_.samples(); }
  /// Epochs that this one stands for: epochs_at_once(), or those that are left.
  std::int64_t passes() const { return std::min(epochs_at_once(), job_.epochs() - progress_.epoch()); }

  GlobalModel& global_model() { return *global_model_; }
  float last_rate() const { return last_rate_; }  // learning rate of the last update

  /// Work for a worker, without values: to train on samples that it holds. next: what it gets after these, as far as is
  /// known; of the next epoch if next_epoch.
  Work training(const SampleLedger::Samples& samples, const SampleLedger::Samples& next, bool next_epoch) const;
  /// The same for these workers, each with its share of the next samples: at most so many with equal shares, and as
  /// many in all where they go by speed.
  std::map<net::Rank, Work> assign(const net::RankSet& ranks, std::size_t count);
  /// Lets the worker make steps of its own on the samples of this work, at the learning rates that come next. count: as
  /// of assign(); those who have more do not go ahead in the schedule.
  void set_local_steps(Work& work, std::size_t count) const;
  /// Waits for news, and sees to the samples of a worker that was dropped. errors: those of WorkerRoster::next.
  Result<std::optional<WorkerRoster::Answered>> take_news();
  /// The same. errors: besides, cancelled: the job is asked to stop, and a checkpoint was saved.
  Result<std::optional<WorkerRoster::Answered>> next_answer();
  /// Counts the samples of these answers, and so many steps. errors: out_of_range: the loss is no number any more;
  /// nothing is changed then.
  Status count_in(std::span<const WorkerRoster::Answered> answers, std::int64_t steps = 1);
  /// The same, and one update with these answers, by rank; rate: times the scheduled learning rate.
  Status apply(std::span<const WorkerRoster::Answered> answers, float rate = 1);
  /// The same, with the answers' gradients as they were put together elsewhere.
  Status apply(std::span<const WorkerRoster::Answered> answers, std::span<const GlobalModel::Part> parts, float rate);

 private:
  Status train();
  Status prepare();
  Status resume(const learn::Checkpoint& checkpoint);
  Status train_epoch();
  Status finish_epoch();
  bool validation_is_due() const;
  Result<Evaluation> evaluate(bool validation);
  std::string model();
  void finish(const Evaluation& test, Seconds train_seconds, Seconds eval_seconds);

  std::int64_t samples_done() const;
  std::int64_t position(std::int64_t samples) const;
  float rate_at(std::int64_t position) const { return rates_.rate(global_model_->schedule(), position); }
  Seconds train_seconds() const { return progress_.seconds(context_.clock.now()); }

  Status stopped();
  Status save_checkpoint();
  void report_progress();

  const TrainJob& job_;
  job::RoleContext& context_;
  const Hyperparameters recipe_;
  std::unique_ptr<GlobalModel> global_model_;
  Reports reports_;
  ServerCodecs codecs_;
  WorkerRoster workers_;
  const std::size_t batch_;

  Hello data_;
  std::string settings_;  // see settings_text
  std::int64_t samples_per_epoch_ = 0;
  LearningRates rates_;
  SampleDealer dealer_;
  TrainingProgress progress_;
  std::optional<SpeedAdvisor> advisor_;  // where can_be_advised()
  float last_rate_ = 0;                  // learning rate of the last step
  Instant last_checkpoint_;
  job::Throttle throttle_;
};

}  // namespace mangrove::train
