#include "mangrove/train/server.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "mangrove/data/loader.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/learn/checkpoint.h"
#include "mangrove/train/epoch_work.h"
#include "mangrove/train/evaluation.h"
#include "mangrove/train/job_settings.h"
#include "mangrove/train/master.h"
#include "mangrove/train/workers.h"

namespace mangrove::train {
namespace {

constexpr Seconds kProgressInterval = 0.2;

std::vector<std::string> names_of(const Hello& hello) {
  return {hello.classes().begin(), hello.classes().end()};
}

/// The data must be what the network was built for.
Status check_fits(const Graph& graph, const TrainJob& job, const Hello& data) {
  if (data.train_samples() < 1) return make_error(Code::invalid_argument, "data set '" + job.data() + "' is empty");
  std::vector<std::int64_t> input = {kBatch};
  input.insert(input.end(), data.sample_shape().begin(), data.sample_shape().end());
  const Shape logits{kBatch, data.classes_size()};
  const Shape& found_input = graph.inputs().front().second.shape;
  const Shape& found_output = graph.value(graph.outputs().front()).shape;
  if (found_input.with_batch(1) == Shape(input).with_batch(1) && found_output.with_batch(1) == logits.with_batch(1))
    return {};
  return make_error(Code::invalid_argument, "model '" + graph.name() + "' maps " + to_string(found_input) + " to " +
                                                to_string(found_output) + ", but data set '" + job.data() + "' needs " +
                                                to_string(Shape(input)) + " to " + to_string(logits));
}

class Server {
 public:
  Server(const TrainJob& job, net::RoleContext& context, const Recipe& recipe, std::unique_ptr<Master> master)
      : job_(job),
        context_(context),
        recipe_(recipe),
        master_(std::move(master)),
        reports_(context),
        workers_(context, reports_, step_timeout(job)),
        batch_(static_cast<std::size_t>(job.batch())) {}

  Status run();
  void end() { workers_.end(); }

 private:
  Status prepare();
  Status resume(const learn::Checkpoint& checkpoint);
  EpochWork work_of_epoch(std::int64_t epoch) const;
  Status train_epoch();
  Status train_step();
  Status collect();
  Status apply(std::int64_t samples);
  std::int64_t steps_per_epoch() const;
  float rate_at(std::int64_t position) const;
  float learning_rate() const;
  Status finish_epoch();
  bool validation_is_due() const;
  Result<Evaluation> evaluate(bool validation);
  Graph labelled_model();
  void finish(const Evaluation& test, Seconds train_seconds);
  Seconds train_seconds() const { return seconds_before_ + (context_.clock.now() - start_) - validation_seconds_; }

  Status wait_for_ready();
  void reassign(const Workers::Dropped& dropped);
  Status stopped();
  void save_checkpoint();
  void report_progress();

  const TrainJob& job_;
  net::RoleContext& context_;
  const Recipe recipe_;
  std::unique_ptr<Master> master_;
  Reports reports_;
  Workers workers_;
  const std::size_t batch_;

  Hello data_;
  std::string settings_;  // see settings_text
  std::int64_t samples_per_epoch_ = 0;
  Pace pace_;

  EpochWork work_;                                  // of the epoch
  std::map<net::Rank, Workers::Answered> answers_;  // of the step
  std::int64_t epoch_ = 0;                          // epochs done
  std::int64_t step_ = 0;                           // steps done
  std::int64_t samples_ = 0;                        // that the network has learnt from
  learn::BatchStats epoch_stats_;                   // of this epoch so far; when training is over, of the last one
  learn::BatchStats recent_;                        // since the last progress report
  float last_rate_ = 0;                             // learning rate of the last step
  Seconds seconds_before_ = 0;                      // of training, before this run took over
  std::int64_t samples_before_ = 0;
  Instant start_;  // of training in this run
  Seconds validation_seconds_ = 0, eval_seconds_ = 0;
  Instant last_report_, last_checkpoint_;
};

Status Server::run() {
  MG_RETURN_IF_ERROR(prepare());
  start_ = last_checkpoint_ = last_report_ = context_.clock.now();
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

Status Server::prepare() {
  if (context_.endpoint.size() < 2)
    return make_error(Code::invalid_argument, "nodes: training needs at least one node, got 0");
  std::optional<learn::Checkpoint> checkpoint;
  if (!job_.resume_from().empty()) {
    MG_TRY(checkpoint, learn::parse_checkpoint(job_.resume_from()).context("resume"));
  }
  MG_TRY(data_, workers_.gather());
  MG_RETURN_IF_ERROR(check_fits(master_->graph(), job_, data_));
  if (data_.validation_samples() == 0 && (recipe_.patience > 0 || master_->schedule().row().needs_validation)) {
    return make_error(Code::invalid_argument,
                      (recipe_.patience > 0 ? "patience" : "schedule '" + recipe_.schedule.name + "'") +
                          " goes by validation, but data set '" + job_.data() +
                          "' has no validation split; set `validation`");
  }
  samples_per_epoch_ = data_.train_samples();
  MG_TRY(const learn::OptimizerRow* optimizer, learn::find_optimizer(recipe_.optimizer.name));
  pace_ = {static_cast<std::int64_t>(workers_.ready().size() * batch_),
           base_learning_rate(job_, *optimizer, workers_.ready().size())};
  settings_ = settings_text(job_, recipe_, master_->graph(), samples_per_epoch_);
  return checkpoint ? resume(*checkpoint) : Status();
}

Status Server::resume(const learn::Checkpoint& checkpoint) {
  MG_RETURN_IF_ERROR(check_same_settings(checkpoint.job, settings_));
  MG_TRY(const Pace before, pace_of(checkpoint.job));
  const auto in_range = [&](std::uint32_t index) { return index < samples_per_epoch_; };
  if (checkpoint.epoch > job_.epochs() || static_cast<std::int64_t>(checkpoint.pending.size()) > samples_per_epoch_ ||
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
  work_ = EpochWork(checkpoint.pending);
  seconds_before_ = checkpoint.train_seconds;
  samples_before_ = samples_ = epoch_ * samples_per_epoch_ + (work_.done() ? 0 : epoch_stats_.count);
  return {};
}

EpochWork Server::work_of_epoch(std::int64_t epoch) const {
  return EpochWork(data::epoch_order(static_cast<std::uint32_t>(samples_per_epoch_), job_.seed(),
                                     static_cast<std::uint64_t>(epoch)));
}

Status Server::train_epoch() {
  if (work_.done()) {  // else it continues one from a checkpoint
    work_ = work_of_epoch(epoch_);
    epoch_stats_ = {};
  }
  while (!work_.done()) {
    if (context_.stop.stop_requested()) return stopped();
    MG_RETURN_IF_ERROR(train_step());
    if (context_.clock.now() - last_report_ >= kProgressInterval || work_.done()) report_progress();
    if (context_.clock.now() - last_checkpoint_ >= checkpoint_interval(job_) && !work_.done()) save_checkpoint();
  }
  ++epoch_;
  MG_RETURN_IF_ERROR(finish_epoch());
  save_checkpoint();
  return {};
}

/// Measures the validation split, where there is one, and reports the epoch that is done.
Status Server::finish_epoch() {
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
    if (master_->best().observe(epoch_, accuracy, measured.loss)) best_model = encode_onnx(labelled_model());
    report.validation = {true, accuracy, measured.loss, master_->best()};
  }
  report.train_seconds = train_seconds();
  reports_.epoch(report, std::move(best_model));
  return {};
}

/// Of a run that was stopped between an epoch and its validation.
bool Server::validation_is_due() const {
  return data_.validation_samples() > 0 && master_->schedule().plateau().epochs < epoch_;
}

Status Server::train_step() {
  MG_RETURN_IF_ERROR(wait_for_ready());
  const net::RankSet ranks = workers_.ready();
  const auto parts = work_.assign(ranks, batch_);
  // the first samples of the next epoch are loaded during the last step of this one
  const bool last_step = work_.pending_count() == 0;
  const std::int64_t next_epoch = epoch_ + (last_step ? 1 : 0);
  std::map<net::Rank, EpochWork::Samples> next_parts;
  if (!last_step || next_epoch < job_.epochs())
    next_parts = (last_step ? work_of_epoch(next_epoch) : work_).preview(ranks, batch_);
  for (const auto& [rank, samples] : parts) {
    Work work;
    work.set_kind(Work::TRAIN);
    work.set_version(step_);
    work.set_epoch(epoch_);
    work.mutable_samples()->Add(samples.begin(), samples.end());
    if (const auto next = next_parts.find(rank); next != next_parts.end()) {
      work.mutable_next_samples()->Add(next->second.begin(), next->second.end());
      work.set_next_epoch(next_epoch);
    }
    workers_.give(rank, work, master_->values());
  }
  answers_.clear();
  MG_RETURN_IF_ERROR(collect());
  std::int64_t samples = 0;
  for (const auto& [rank, answered] : answers_) samples += static_cast<std::int64_t>(work_.finish(rank));
  return samples > 0 ? apply(samples) : Status();
}

/// Waits until every worker of the step has answered or was dropped. When the job is asked to stop, the step is undone.
Status Server::collect() {
  while (workers_.any_busy()) {
    if (context_.stop.stop_requested()) {
      for (net::Rank rank = context_.endpoint.size(); rank-- > 1;) {
        if (work_.holds(rank)) work_.give_back(rank);
      }
      return stopped();
    }
    MG_TRY(Workers::News news, workers_.next());
    if (auto* answered = std::get_if<Workers::Answered>(&news)) answers_.emplace(answered->rank, std::move(*answered));
    if (const auto* dropped = std::get_if<Workers::Dropped>(&news)) reassign(*dropped);
  }
  return {};
}

/// In rank order, so that the result does not depend on who was first.
/// errors: out_of_range: the loss is no number any more; nothing is changed then.
Status Server::apply(std::int64_t samples) {
  for (const auto& [rank, answered] : answers_) {
    if (!std::isfinite(answered.answer.loss())) {
      return make_error(Code::out_of_range, "training diverged at step " + std::to_string(step_) +
                                                ": the loss is no number any more; try a lower learning_rate");
    }
  }
  std::vector<Master::Part> parts;
  for (const auto& [rank, answered] : answers_) {
    const learn::BatchStats stats{answered.answer.loss(), answered.answer.correct(), answered.answer.count()};
    parts.push_back({answered.body(), stats.count});
    epoch_stats_ += stats;
    recent_ += stats;
  }
  last_rate_ = learning_rate();
  master_->step(parts, last_rate_, step_ + 1);
  samples_ += samples;
  ++step_;
  return {};
}

std::int64_t Server::steps_per_epoch() const {
  return (samples_per_epoch_ + pace_.samples_per_step - 1) / pace_.samples_per_step;
}

float Server::rate_at(std::int64_t position) const {
  return master_->schedule().rate(
      pace_.base_learning_rate,
      {.step = position, .total = steps_per_epoch() * job_.epochs(), .steps_per_epoch = steps_per_epoch()});
}

/// The schedule follows the samples, not the steps: when workers are lost, steps become more and smaller, and the rate
/// still ends where it should. Without losses this is the number of steps done.
float Server::learning_rate() const {
  const std::int64_t done = samples_per_epoch_ - static_cast<std::int64_t>(work_.pending_count());
  std::int64_t taken = 0;  // by this step
  for (const auto& [rank, answered] : answers_) taken += answered.answer.count();
  return rate_at(epoch_ * steps_per_epoch() + (done - taken) / pace_.samples_per_step);
}

Status Server::wait_for_ready() {
  while (workers_.ready().empty()) {
    if (context_.stop.stop_requested()) return stopped();
    MG_TRY(const Workers::News news, workers_.next());
    if (const auto* dropped = std::get_if<Workers::Dropped>(&news)) reassign(*dropped);
  }
  return {};
}

void Server::reassign(const Workers::Dropped& dropped) {
  reports_.work_reassigned(dropped.rank, dropped.reason, work_.give_back(dropped.rank), step_);
}

Status Server::stopped() {
  save_checkpoint();
  return make_error(Code::cancelled,
                    "stopped after step " + std::to_string(step_) + "; the checkpoint goes on from there");
}

void Server::save_checkpoint() {
  learn::Checkpoint checkpoint;
  checkpoint.job = with_pace(settings_, pace_);
  master_->save(checkpoint);
  checkpoint.step = step_;
  checkpoint.epoch = epoch_;
  checkpoint.pending = work_.pending();
  checkpoint.epoch_stats = epoch_stats_;
  checkpoint.train_seconds = train_seconds();
  reports_.checkpoint(epoch_, step_, learn::encode_checkpoint(checkpoint));
  last_checkpoint_ = context_.clock.now();
}

void Server::report_progress() {
  Reports::Progress progress;
  progress.epoch = epoch_ + 1;
  progress.epochs = job_.epochs();
  progress.step = step_;
  progress.total = job_.epochs() * samples_per_epoch_;
  progress.done = samples_;
  const auto workers = static_cast<std::int64_t>(std::max<std::size_t>(1, workers_.ready().size()));
  const std::int64_t per_step = workers * job_.batch();
  progress.steps = step_ + (static_cast<std::int64_t>(work_.pending_count()) + per_step - 1) / per_step +
                   (job_.epochs() - epoch_ - 1) * ((samples_per_epoch_ + per_step - 1) / per_step);
  const auto count = static_cast<double>(std::max<std::int64_t>(1, recent_.count));
  progress.loss = recent_.loss / count;
  progress.accuracy = static_cast<double>(recent_.correct) / count;
  progress.learning_rate = last_rate_;
  const Seconds seconds = train_seconds() - seconds_before_;
  progress.images_per_s = seconds > 0 ? static_cast<double>(samples_ - samples_before_) / seconds : 0;
  reports_.train_progress(progress);
  recent_ = {};
  last_report_ = context_.clock.now();
}

Result<Evaluation> Server::evaluate(bool validation) {
  const EvaluationTask task{.validation = validation,
                            .samples = validation ? data_.validation_samples() : data_.test_samples(),
                            .classes = data_.classes_size(),
                            .batch = job_.batch(),
                            .version = step_};
  Result<Evaluation> evaluation = evaluate_on_workers(context_, workers_, reports_, task, master_->evaluated());
  if (!evaluation.ok() && context_.stop.stop_requested()) return stopped().error();
  return evaluation;
}

/// The network as it is exported: it says what it was trained on.
Graph Server::labelled_model() {
  GraphParts parts = master_->model().parts();
  parts.metadata["mangrove.data"] = job_.data();
  parts.metadata["mangrove.classes"] = json_list(names_of(data_));
  if (!data_.augmentation().empty()) parts.metadata["mangrove.augmentation"] = data_.augmentation();
  Result<Graph> labelled = Graph::create(std::move(parts));
  MG_CHECK_MSG(labelled.ok(), labelled.error().message);
  return *labelled;
}

void Server::finish(const Evaluation& test, Seconds train_seconds) {
  Reports::Result result;
  result.epochs = epoch_;
  result.steps = step_;
  result.samples = samples_;
  result.batch = job_.batch();
  result.workers = static_cast<int>(workers_.ready().size());
  result.train_seconds = train_seconds;
  result.eval_seconds = eval_seconds_;
  const auto count = static_cast<double>(std::max<std::int64_t>(1, epoch_stats_.count));
  result.loss = epoch_stats_.loss / count;
  result.train_accuracy = static_cast<double>(epoch_stats_.correct) / count;
  result.class_names = names_of(data_);
  result.best = master_->best();
  result.test_loss = test.loss;
  reports_.result(result, test.confusion, encode_onnx(labelled_model()));
}

}  // namespace

Status run_server(const TrainJob& job, net::RoleContext& context) {
  MG_TRY(Graph graph, parse_onnx(job.model()).context("model"));
  MG_TRY(const Recipe recipe, recipe_of(job));
  MG_TRY(std::unique_ptr<Master> master, Master::create(std::move(graph), recipe));
  Server server(job, context, recipe, std::move(master));
  const Status status = server.run();
  server.end();
  return status;
}

}  // namespace mangrove::train
