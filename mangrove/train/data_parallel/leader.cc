#include "mangrove/train/data_parallel/leader.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "mangrove/graph/onnx.h"
#include "mangrove/train/dataset_summary.h"
#include "mangrove/train/frozen.h"

namespace mangrove::train {
namespace {

constexpr std::int64_t kMostSteps = std::int64_t{1} << 60;
constexpr std::int64_t kMostBetweenAverages = 1'000'000;  // steps; their learning rates travel in one message

Status check_steps_between_averages(const TrainJob& job, std::int64_t samples, std::int64_t epochs) {
  const std::int64_t steps = (samples + job.batch() - 1) / job.batch() * epochs;
  if (epochs == 1 || steps <= kMostBetweenAverages) return {};
  return make_error(Code::invalid_argument, "local_epochs: " + std::to_string(epochs) + " passes over " +
                                                std::to_string(samples) + " samples are " + std::to_string(steps) +
                                                " steps between two averages; the most is " +
                                                std::to_string(kMostBetweenAverages));
}

}  // namespace

Leader::Leader(const TrainJob& job, job::RoleContext& context, const Hyperparameters& recipe,
               std::unique_ptr<GlobalModel> master)
    : job_(job),
      context_(context),
      recipe_(recipe),
      master_(std::move(master)),
      reports_(context),
      codecs_(job, master_->graph()),
      workers_(context, reports_, codecs_, job.step_timeout_s()),
      batch_(static_cast<std::size_t>(job.batch())),
      balance_(Balance::of(job)) {}

Status Leader::run() {
  const Status status = train();
  workers_.end();
  return status;
}

Status Leader::train() {
  MG_RETURN_IF_ERROR(prepare());
  start_ = last_checkpoint_ = context_.clock.now();
  throttle_ = job::Throttle(start_);
  meter_ = JobMeter(train_seconds());
  if (validation_is_due()) MG_RETURN_IF_ERROR(finish_epoch());
  while (epoch_ < job_.epochs() && !master_->best().is_stale(epoch_, recipe_.patience))
    MG_RETURN_IF_ERROR(train_epoch());
  if (epoch_ < job_.epochs()) reports_.stopped_early(epoch_, master_->best());
  const Seconds seconds = train_seconds();
  const Instant start = context_.clock.now();
  MG_TRY(const Evaluation test, evaluate(/*validation=*/false));
  eval_seconds_ = context_.clock.now() - start;
  finish(test, seconds);
  return {};
}

Status Leader::prepare() {
  if (context_.endpoint.size() < 2)
    return make_error(Code::invalid_argument, "nodes: training needs at least one node, got 0");
  std::optional<learn::Checkpoint> checkpoint;
  if (!job_.resume_from().empty()) {
    MG_TRY(checkpoint, learn::parse_checkpoint(job_.resume_from()).context("resume"));
  }
  MG_TRY(data_, workers_.gather());
  MG_RETURN_IF_ERROR(check_data(master_->graph(), job_, data_));
  if (data_.validation_samples() == 0 && (recipe_.patience > 0 || master_->schedule().row().needs_validation)) {
    return make_error(Code::invalid_argument,
                      (recipe_.patience > 0 ? "patience" : "schedule '" + recipe_.schedule.name + "'") +
                          " goes by validation, but data set '" + job_.data() +
                          "' has no validation split; set `validation`");
  }
  samples_per_epoch_ = data_.train_samples();
  MG_RETURN_IF_ERROR(check_steps_between_averages(job_, samples_per_epoch_, std::min(epochs_at_once(), job_.epochs())));
  MG_RETURN_IF_ERROR(find_owners());
  MG_TRY(const learn::OptimizerRow* optimizer, learn::find_optimizer(recipe_.optimizer.name));
  pace_ = {samples_per_step(workers_.ready().size()),
           base_learning_rate(job_, *optimizer, workers_in_step(workers_.ready().size()))};
  settings_ = settings_text(job_, master_->graph(), samples_per_epoch_);
  return checkpoint ? resume(*checkpoint) : Status();
}

Status Leader::resume(const learn::Checkpoint& checkpoint) {
  MG_RETURN_IF_ERROR(check_same_settings(checkpoint.job, settings_));
  MG_TRY(const StepBasis before, pace_of(checkpoint.job));
  const auto in_range = [&](std::uint32_t index) { return index < samples_per_epoch_; };
  if (checkpoint.epoch > job_.epochs() || checkpoint.step > kMostSteps ||
      static_cast<std::int64_t>(checkpoint.pending.size()) > samples_per_epoch_ ||
      !std::all_of(checkpoint.pending.begin(), checkpoint.pending.end(), in_range)) {
    return make_error(Code::data_loss, "resume: the checkpoint does not fit the job that it names");
  }
  MG_RETURN_IF_ERROR(master_->restore(checkpoint).context("resume"));
  if (before.samples_per_step != pace_.samples_per_step)
    reports_.resumed_with_other_workers(before.samples_per_step, pace_.samples_per_step);
  pace_ = before;
  step_ = checkpoint.step;
  epoch_ = checkpoint.epoch;
  epoch_stats_ = checkpoint.epoch_stats;
  work_ = SampleLedger(checkpoint.pending, owners_);
  seconds_before_ = checkpoint.train_seconds;
  samples_before_ = samples_ =
      epoch_ * samples_per_epoch_ +
      (work_.done() ? 0 : (samples_per_epoch_ - static_cast<std::int64_t>(work_.unfinished_count())) * passes());
  return {};
}

SampleLedger Leader::work_of_epoch(std::int64_t epoch) const {
  return SampleLedger(order_of_epoch(job_, data_, epoch), owners_);
}

Status Leader::find_owners() {
  MG_TRY(auto ranks, owners_of_samples(job_, data_, static_cast<std::size_t>(context_.endpoint.size()) - 1));
  if (!ranks.empty()) owners_ = std::make_shared<const std::vector<net::Rank>>(std::move(ranks));
  return {};
}

/// What is left of the samples of workers that are not there is for the others; every node can read the whole data set.
void Leader::disown_lost() {
  const net::RankSet there = workers_.in_use();
  for (net::Rank rank = 1; owners_ != nullptr && rank < context_.endpoint.size(); ++rank) {
    if (!std::binary_search(there.begin(), there.end(), rank)) work_.disown(rank);
  }
}

Status Leader::train_epoch() {
  if (work_.done()) {  // else it continues one from a checkpoint
    work_ = work_of_epoch(epoch_);
    epoch_stats_ = {};
  }
  while (!work_.done()) {
    if (context_.stop.stop_requested()) return stopped();
    disown_lost();
    MG_RETURN_IF_ERROR(advance());
    if (throttle_.passes(context_.clock.now(), work_.done())) report_progress();
    if (context_.clock.now() - last_checkpoint_ >= job_.checkpoint_every_s() && !work_.done())
      MG_RETURN_IF_ERROR(save_checkpoint());
  }
  epoch_ += passes();
  MG_RETURN_IF_ERROR(finish_epoch());
  return save_checkpoint();
}

/// Measures the validation split, where there is one, and reports the epoch that is done.
Status Leader::finish_epoch() {
  Reports::Epoch report;
  report.epoch = epoch_;
  report.train = epoch_stats_;
  report.learning_rate = rate_at(epoch_ * steps_per_epoch() - 1);
  std::string best_model;
  if (data_.validation_samples() > 0) {
    const Instant start = context_.clock.now();
    MG_TRY(const Evaluation measured, evaluate(/*validation=*/true));
    validation_seconds_ += context_.clock.now() - start;
    master_->schedule().observe(measured.loss);
    const double accuracy = measured.confusion.accuracy();
    if (master_->best().observe(epoch_, accuracy, measured.loss)) best_model = model();
    report.validation = {true, accuracy, measured.loss, accuracy_at_exits(measured), master_->best()};
  }
  report.train_seconds = train_seconds();
  reports_.epoch(report, std::move(best_model));
  return {};
}

/// Of a run that was stopped between an epoch and its validation.
bool Leader::validation_is_due() const {
  const std::int64_t due = (epoch_ + epochs_at_once() - 1) / epochs_at_once();
  return data_.validation_samples() > 0 && master_->schedule().plateau().epochs < due;
}

Work Leader::training(const SampleLedger::Samples& samples, const SampleLedger::Samples& next, bool next_epoch) const {
  Work work;
  work.set_kind(Work::TRAIN);
  work.set_version(step_);
  work.set_epoch(epoch_);
  work.mutable_samples()->Add(samples.begin(), samples.end());
  if (!next.empty()) {
    const std::size_t first_batch = std::min(next.size(), static_cast<std::size_t>(most_in_batch(job_)));
    work.mutable_next_samples()->Add(next.begin(), next.begin() + static_cast<std::ptrdiff_t>(first_batch));
    work.set_next_epoch(epoch_ + (next_epoch ? passes() : 0));
  }
  return work;
}

std::size_t Leader::root_of(std::size_t workers) {
  return static_cast<std::size_t>(std::sqrt(static_cast<double>(workers)));
}

/// None of it done; nothing where this epoch is the last.
SampleLedger Leader::next_epoch_work() const {
  return epoch_ + passes() < job_.epochs() ? work_of_epoch(epoch_ + passes()) : SampleLedger();
}

SampleLedger::Rooms Leader::rooms(const net::RankSet& ranks, std::size_t count) {
  if (balance_) {
    const bool changed = balance_->observe(workers_.speeds(ranks), count);
    SampleLedger::Rooms shares = balance_->shares(ranks, count);
    if (changed) reports_.balanced(shares, step_);
    return shares;
  }
  SampleLedger::Rooms equal;
  for (const net::Rank rank : ranks) equal[rank] = count;
  return equal;
}

std::map<net::Rank, Work> Leader::assign(const net::RankSet& ranks, std::size_t count) {
  const SampleLedger::Rooms room = rooms(ranks, count);
  const auto parts = work_.assign(room);
  // the first samples of the next epoch are loaded during the last step of this one
  const bool last_step = work_.pending_count() == 0;
  const auto next = last_step ? next_epoch_work().preview(room) : work_.preview(room);
  std::map<net::Rank, Work> works;
  for (const auto& [rank, samples] : parts) {
    const auto found = next.find(rank);
    works[rank] = training(samples, found == next.end() ? SampleLedger::Samples() : found->second, last_step);
  }
  return works;
}

Result<std::optional<Workers::Answered>> Leader::next_answer() {
  if (context_.stop.stop_requested()) return stopped().error();
  return take_news();
}

Result<std::optional<Workers::Answered>> Leader::take_news() {
  MG_TRY(Workers::News news, workers_.next());
  if (auto* answered = std::get_if<Workers::Answered>(&news)) return std::optional(std::move(*answered));
  if (const auto* dropped = std::get_if<Workers::Dropped>(&news)) {
    drop(*dropped);
    disown_lost();
  }
  return std::optional<Workers::Answered>();
}

void Leader::drop(const Workers::Dropped& dropped) {
  if (work_.holds(dropped.rank))
    reports_.work_reassigned(dropped.rank, dropped.reason, work_.give_back(dropped.rank), step_);
}

Status Leader::apply(std::span<const Workers::Answered> answers, float rate) {
  std::vector<GlobalModel::Part> parts;
  for (const Workers::Answered& answered : answers) parts.push_back({answered.body(), answered.answer.count()});
  return apply(answers, parts, rate);
}

Status Leader::apply(std::span<const Workers::Answered> answers, std::span<const GlobalModel::Part> parts, float rate) {
  MG_RETURN_IF_ERROR(count_in(answers));
  last_rate_ *= rate;
  master_->step(parts, master_rate(last_rate_), step_);
  return {};
}

Status Leader::count_in(std::span<const Workers::Answered> answers, std::int64_t steps) {
  learn::BatchStats stats;
  for (const Workers::Answered& answered : answers) {
    const Answer& answer = answered.answer;
    if (!std::isfinite(answer.loss())) {
      return make_error(Code::out_of_range, "training diverged at step " + std::to_string(step_) +
                                                ": the loss is no number any more; try a lower learning_rate");
    }
    stats += {answer.loss(),
              answer.correct(),
              answer.count(),
              {answer.early_correct().begin(), answer.early_correct().end()}};
    meter_.add(answered.rank, answer.count(), answer.compute_s());
  }
  std::int64_t taken = 0;
  for (const Workers::Answered& answered : answers) taken += static_cast<std::int64_t>(work_.finish(answered.rank));
  last_rate_ = rate_at(steps_done(taken));
  epoch_stats_ += stats;
  recent_ += stats;
  samples_ += taken * passes();
  step_ += steps;
  watch_speed();
  return {};
}

std::int64_t Leader::steps_per_epoch() const {
  return (samples_per_epoch_ + pace_.samples_per_step - 1) / pace_.samples_per_step;
}

float Leader::rate_at(std::int64_t position) const {
  return master_->schedule().rate(
      pace_.base_learning_rate,
      {.step = position, .total = steps_per_epoch() * job_.epochs(), .steps_per_epoch = steps_per_epoch()});
}

/// Before so many of the samples were done. The schedule follows the samples, not the steps: when workers are lost,
/// steps become more and smaller, and the rate still ends where it should. Without losses this is the number of steps
/// done.
std::int64_t Leader::steps_done(std::int64_t taken) const {
  const std::int64_t done = samples_per_epoch_ - static_cast<std::int64_t>(work_.unfinished_count());
  return epoch_ * steps_per_epoch() + (done - taken) * passes() / pace_.samples_per_step;
}

void Leader::set_local_steps(Work& work, std::size_t count) const {
  const auto steps_on = [&](std::size_t samples) {
    return static_cast<std::int64_t>((samples + batch_ - 1) / batch_) * passes();
  };
  const std::int64_t steps = steps_on(static_cast<std::size_t>(work.samples_size()));
  const std::int64_t of_schedule = std::min(steps, steps_on(count));
  const std::int64_t first = steps_done(0), last = steps_per_epoch() * job_.epochs() - 1;
  for (std::int64_t i = 0; i < steps; ++i)
    work.add_learning_rates(rate_at(std::min(first + i * of_schedule / steps, last)));
  work.set_passes(passes());
}

/// What workers have not finished when the job is asked to stop is left to the run that resumes it.
Status Leader::stopped() {
  MG_RETURN_IF_ERROR(save_checkpoint());
  return make_error(Code::cancelled,
                    "stopped after step " + std::to_string(step_) + "; the checkpoint goes on from there");
}

Status Leader::save_checkpoint() {
  MG_RETURN_IF_ERROR(collect());
  learn::Checkpoint checkpoint;
  checkpoint.job = with_pace(settings_, pace_);
  master_->save(checkpoint);
  checkpoint.step = step_;
  checkpoint.epoch = epoch_;
  checkpoint.pending = work_.unfinished();
  checkpoint.epoch_stats = epoch_stats_;
  checkpoint.train_seconds = train_seconds();
  checkpoint.micro_batches = workers_.micro_batches();
  reports_.checkpoint(epoch_, step_, learn::encode_checkpoint(checkpoint));
  last_checkpoint_ = context_.clock.now();
  return {};
}

Result<Evaluation> Leader::evaluate(bool validation) {
  MG_RETURN_IF_ERROR(collect());
  const EvaluationTask task{.validation = validation,
                            .samples = validation ? data_.validation_samples() : data_.test_samples(),
                            .classes = data_.classes_size(),
                            .batch = job_.batch(),
                            .version = step_};
  Result<Evaluation> evaluation = classify(task);
  if (!evaluation.ok() && context_.stop.stop_requested()) return stopped().error();
  return evaluation;
}

Result<Evaluation> Leader::classify(const EvaluationTask& task) {
  return evaluate_on_workers(context_, workers_, reports_, task, master_->evaluated());
}

/// As ONNX.
std::string Leader::model() {
  return encode_onnx(labelled(whole_network(job_, master_->model()), job_, data_));
}

}  // namespace mangrove::train
