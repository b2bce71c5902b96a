#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "mangrove/learn/checkpoint.h"
#include "mangrove/train/data_parallel/aggregate_key.h"
#include "mangrove/train/data_parallel/evaluation.h"
#include "mangrove/train/data_parallel/global_model.h"
#include "mangrove/train/data_parallel/learning_rates.h"
#include "mangrove/train/data_parallel/privacy_budget.h"
#include "mangrove/train/data_parallel/sample_dealer.h"
#include "mangrove/train/data_parallel/training_progress.h"
#include "mangrove/train/data_parallel/worker_roster.h"
#include "mangrove/train/speed_advisor.h"

namespace mangrove::train {

/// Rank 0 of a training job, as far as all strategies share it. It goes through the epochs, says which samples are
/// visited, validates, reports, saves checkpoints, resumes from one, and tests the network at the end. A strategy
/// derives from it and says how samples become updates. threads: one at a time.
class Leader {
 public:
  Leader(const TrainJob& job, job::RoleContext& context, const Hyperparameters& recipe,
         std::unique_ptr<GlobalModel> model);
  virtual ~Leader() = default;

  /// Plays the role to the end of the job, and ends the roles of the workers. errors: those of Strategy::run.
  Status run();

 protected:
  /// Gives samples out and takes answers in until there is an update, or until something else has changed. It is called
  /// as long as the epoch has samples that nobody has learnt from. All samples must have been counted when the epoch is
  /// over.
  virtual Status advance() = 0;
  /// Samples that one step of the schedule learns from with this number of workers.
  virtual std::int64_t samples_per_step(std::size_t workers) const = 0;
  /// Samples that one update learns from, if an update is more than one step.
  virtual std::int64_t samples_per_update(std::size_t workers) const { return samples_per_step(workers); }
  /// Passes that a worker makes over its samples before it answers: the number of epochs that one piece of work counts
  /// as.
  virtual std::int64_t epochs_at_once() const { return 1; }
  /// Brings the global model's values up to date, in strategies that do not update the global model themselves. errors:
  /// those of WorkerRoster::next.
  virtual Status collect() { return {}; }
  /// Classifies the samples of the task with the global model's values. errors: as next_answer().
  virtual Result<Evaluation> classify(const EvaluationTask& task);
  /// A worker with work will not answer. Its samples go to the others.
  virtual void drop(const WorkerRoster::Dropped& dropped);
  /// Whether the time that a worker computes says how fast one worker would be alone. This holds where each worker has
  /// the whole network.
  virtual bool can_be_advised() const { return true; }
  /// The learning rate of the update; scheduled: the rate that the schedule gives.
  virtual float update_rate(float scheduled) const { return scheduled; }
  /// The number of workers that the default learning rate is scaled by (see base_learning_rate).
  virtual std::size_t workers_in_step(std::size_t workers) const { return workers; }
  /// The number of vectors, each of another worker, that one update is made of when `workers` workers are there.
  virtual std::size_t vectors_in_update(std::size_t workers) const { return workers; }
  /// Who takes part in a step of a job with `privacy`.
  struct Draw {
    double rate = 1;     // probability of each sample or worker to take part
    double samples = 0;  // that the step learns from, on average
  };
  /// How a strategy draws who takes part in a step, if it takes jobs with `privacy`. An epoch of these is a number of
  /// steps, which learn from as many samples as there are, on average; a sample may be in several or in none.
  virtual Draw draw(const StepBasis&) const { return {}; }
  /// The square root of the number of workers, rounded down. It takes the place of the number of workers in strategies
  /// whose workers are apart for a while: they diverge at rates that synchronous steps can take.
  static std::size_t root_of(std::size_t workers);

  const TrainJob& job() const { return job_; }
  job::RoleContext& context() { return context_; }
  WorkerRoster& workers() { return workers_; }
  Reports& reports() { return reports_; }
  SampleLedger& work() { return dealer_.ledger(); }
  std::size_t batch() const { return batch_; }
  std::int64_t step() const { return progress_.step(); }  // updates so far
  std::int64_t samples_per_epoch() const { return samples_per_epoch_; }
  /// Samples that the network has not learnt from yet, in all epochs to come.
  std::int64_t samples_left() const { return job_.epochs() * samples_per_epoch_ - progress_.samples(); }
  /// The number of epochs that the current one counts as: epochs_at_once(), or the number of epochs left.
  std::int64_t passes() const { return std::min(epochs_at_once(), job_.epochs() - progress_.epoch()); }

  GlobalModel& global_model() { return *global_model_; }
  /// The job's rule, which makes one update of those of several workers. Null: the mean.
  const Aggregation* rule() const { return rule_.get(); }
  /// REQUIRES: the job has `privacy`.
  const PrivacyBudget& budget() const { return *budget_; }
  /// The owner of each sample; empty: they have none.
  std::span<const net::Rank> owners_of_samples() const { return dealer_.owners(); }
  /// Lets the workers have these samples next, each that it owns, and no others.
  void deal_out(const SampleLedger::Samples& samples) { dealer_.resume(samples); }
  /// The fewest workers whose vectors make an update.
  std::size_t least_vectors() const;
  /// Waits until enough workers are in use for an update: see least_vectors(). errors: those of next_answer();
  /// failed_precondition (too few workers for three times the timeout; a checkpoint has been saved).
  Status await_workers();
  /// Sends the report of a checkpoint, with the samples that are not learnt yet.
  Status save_checkpoint();
  float last_rate() const { return last_rate_; }  // learning rate of the last update

  /// Training work on samples that the worker holds, without values. next: the samples that it will probably get
  /// afterwards; next_epoch: they belong to the next epoch.
  Work training(const SampleLedger::Samples& samples, const SampleLedger::Samples& next, bool next_epoch) const;
  /// Training work for these workers, each with its share of the next samples. count: the most samples of each with
  /// equal shares. Where shares go by speed, the sum is the same.
  std::map<net::Rank, Work> assign(const net::RankSet& ranks, std::size_t count);
  /// Lets the worker make steps of its own on the samples of this work, with the learning rates of the next steps.
  /// count: as in assign(). A worker with more samples than that does not advance further in the schedule.
  void set_local_steps(Work& work, std::size_t count) const;
  /// Waits for news, and gives the samples of a dropped worker to the others. errors: those of WorkerRoster::next.
  Result<std::optional<WorkerRoster::Answered>> take_news();
  /// As take_news(), but returns cancelled when the job is asked to stop; then a checkpoint has been saved.
  Result<std::optional<WorkerRoster::Answered>> next_answer();
  /// Counts the samples of these answers, and this number of steps. errors: out_of_range (the loss is not a number any
  /// more); then nothing is changed.
  Status count_in(std::span<const WorkerRoster::Answered> answers, std::int64_t steps = 1);
  /// Counts the answers and makes one update with them, in the order of the ranks. rate: a factor of the scheduled
  /// learning rate.
  Status apply(std::span<const WorkerRoster::Answered> answers, float rate = 1);
  /// As the apply() above, with gradients that the caller has put together from the answers.
  Status apply(std::span<const WorkerRoster::Answered> answers, std::span<const GlobalModel::Part> parts, float rate);
  /// Counts the answers and makes one update with this gradient of the parameters, at the scheduled rate.
  Status apply(std::span<const WorkerRoster::Answered> answers, std::span<const float> gradient);
  /// Whether these answers are enough for an update. If they are not, their samples are dealt out again. If fewer
  /// workers had samples (asked) than an update needs, the samples are counted without an update instead.
  Result<bool> are_enough(std::span<const WorkerRoster::Answered> answers, std::size_t asked);

 private:
  Status train();
  Status prepare();
  Status resume(const learn::Checkpoint& checkpoint);
  Status plan_privacy(const PrivacyOptions& options);
  std::int64_t first_step() const;
  bool begins_epoch() const;
  bool is_in_epoch() const;
  bool may_go_on() const;
  void tell_stopped();
  Status train_epoch();
  Status finish_epoch();
  bool validation_is_due() const;
  std::string what_needs_vectors() const;
  std::optional<double> typical_loss(std::span<const WorkerRoster::Answered> answers) const;
  Result<Evaluation> evaluate(bool validation);
  std::string model();
  void finish(const Evaluation& test, Seconds train_seconds, Seconds eval_seconds);

  std::int64_t samples_done() const;
  std::int64_t position(std::int64_t samples) const;
  float rate_at(std::int64_t position) const { return rates_.rate(global_model_->schedule(), position); }
  Seconds train_seconds() const { return progress_.seconds(context_.clock.now()); }

  Status stopped();
  void report_progress();

  const TrainJob& job_;
  job::RoleContext& context_;
  const Hyperparameters recipe_;
  const std::unique_ptr<Aggregation> rule_;
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
  std::optional<PrivacyBudget> budget_;  // only of a job with `privacy`
  std::int64_t steps_per_epoch_ = 0;     // of such a job; an epoch is epochs_at_once() of them
  std::optional<SpeedAdvisor> advisor_;  // only if can_be_advised()
  float last_rate_ = 0;                  // learning rate of the last step
  std::int64_t unlearnt_ = 0;            // samples of the epoch that made no update
  Instant last_checkpoint_;
  job::Throttle throttle_;
};

}  // namespace mangrove::train
