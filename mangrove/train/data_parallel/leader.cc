#include "mangrove/train/data_parallel/leader.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "mangrove/base/median.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/job/keys.h"
#include "mangrove/secure_aggregation/neighbours.h"
#include "mangrove/train/dataset_summary.h"
#include "mangrove/train/frozen.h"

namespace mangrove::train {
namespace {

constexpr std::int64_t kMostSteps = std::int64_t{1} << 60;
constexpr double kPatience = 3;  // timeouts that pass before a job with too few workers for its rule ends

Status check_steps_between_averages(const TrainJob& job, std::int64_t samples, std::int64_t epochs) {
  const std::int64_t steps = (samples + job.batch() - 1) / job.batch() * epochs;
  const std::int64_t most = job::range_of(*TrainJob::descriptor(), "local_steps").high;  // their rates are one message
  if (epochs == 1 || steps <= most) return {};
  return make_error(Code::invalid_argument, "local_epochs: " + std::to_string(epochs) + " passes over " +
                                                std::to_string(samples) + " samples are " + std::to_string(steps) +
                                                " steps between two averages; the most is " + std::to_string(most));
}

}  // namespace

Leader::Leader(const TrainJob& job, job::RoleContext& context, const Hyperparameters& recipe,
               std::unique_ptr<GlobalModel> model)
    : job_(job),
      context_(context),
      recipe_(recipe),
      rule_(rule_of(job)),
      global_model_(std::move(model)),
      reports_(context),
      codecs_(job, global_model_->graph()),
      workers_(context, reports_, codecs_, job.step_timeout_s()),
      batch_(static_cast<std::size_t>(job.batch())),
      dealer_(job) {}

Status Leader::run() {
  const Status status = train();
  workers_.end();
  return status;
}

Status Leader::train() {
  MG_RETURN_IF_ERROR(prepare());
  last_checkpoint_ = context_.clock.now();
  progress_.begin(last_checkpoint_);
  throttle_ = job::Throttle(last_checkpoint_);
  if (can_be_advised()) advisor_.emplace(job_.batch(), samples_per_epoch_, train_seconds());
  if (validation_is_due()) MG_RETURN_IF_ERROR(finish_epoch());
  while (progress_.epoch() < job_.epochs() && may_go_on() &&
         !global_model_->best().is_stale(progress_.epoch(), recipe_.patience))
    MG_RETURN_IF_ERROR(train_epoch());
  tell_stopped();
  const Seconds seconds = train_seconds();
  const Instant start = context_.clock.now();
  MG_TRY(const Evaluation test, evaluate(/*validation=*/false));
  finish(test, seconds, context_.clock.now() - start);
  return {};
}

void Leader::tell_stopped() {
  if (budget_ && !may_go_on() && step() < budget_->steps()) {
    const double delta = budget_->options().budget.delta;
    reports_.event(
        BudgetSpent{.epsilon = budget_->spent(step()), .delta = delta, .step = step(), .steps = budget_->steps()});
  } else if (progress_.epoch() < job_.epochs()) {
    const learn::BestModel best = global_model_->best();
    reports_.event(StoppedEarly{progress_.epoch(), best.epoch, best.accuracy});
  }
}

Status Leader::prepare() {
  if (context_.endpoint.size() < 2)
    return make_error(Code::invalid_argument, "nodes: training needs at least one node, got 0");
  const std::size_t vectors = vectors_in_update(static_cast<std::size_t>(context_.endpoint.size()) - 1);
  if (vectors < least_vectors()) {
    return make_error(Code::invalid_argument,
                      what_needs_vectors() + " needs the updates of " + std::to_string(least_vectors()) +
                          " workers at once, but an update has those of " + std::to_string(vectors));
  }
  std::optional<learn::Checkpoint> checkpoint;
  if (!job_.resume_from().empty()) {
    MG_TRY(checkpoint, learn::parse_checkpoint(job_.resume_from()).context("resume"));
  }
  MG_TRY(data_, workers_.gather());
  MG_RETURN_IF_ERROR(check_data(global_model_->graph(), job_, data_));
  if (data_.validation_samples() == 0 && (recipe_.patience > 0 || global_model_->schedule().row().needs_validation)) {
    return make_error(Code::invalid_argument,
                      (recipe_.patience > 0 ? "patience" : "schedule '" + recipe_.schedule.name + "'") +
                          " goes by validation, but data set '" + job_.data() +
                          "' has no validation split; set `validation`");
  }
  samples_per_epoch_ = data_.train_samples();
  MG_RETURN_IF_ERROR(check_steps_between_averages(job_, samples_per_epoch_, std::min(epochs_at_once(), job_.epochs())));
  MG_RETURN_IF_ERROR(dealer_.open(data_, static_cast<std::size_t>(context_.endpoint.size()) - 1));
  MG_TRY(const learn::OptimizerRow* optimizer, learn::find_optimizer(recipe_.optimizer.name));
  const std::size_t workers = workers_.ready().size();
  const StepBasis basis{samples_per_step(workers), base_learning_rate(job_, *optimizer, workers_in_step(workers))};
  rates_ = LearningRates(basis, samples_per_epoch_, job_.epochs());
  settings_ = settings_text(job_, global_model_->graph(), samples_per_epoch_);
  const std::optional<PrivacyOptions> privacy = privacy_of(job_);
  if (!checkpoint) return privacy ? plan_privacy(*privacy) : Status();
  return resume(*checkpoint);
}

/// Fixes the number of steps and their noise, by the pace that was settled when the run began.
Status Leader::plan_privacy(const PrivacyOptions& options) {
  const Draw step = draw(rates_.basis());
  const auto all = static_cast<double>(samples_per_epoch_);
  steps_per_epoch_ = std::max<std::int64_t>(1, std::llround(std::ceil(all / step.samples)));
  const std::int64_t rounds = (job_.epochs() + epochs_at_once() - 1) / epochs_at_once();
  MG_TRY(budget_, PrivacyBudget::create(options, step.rate, rounds * steps_per_epoch_));
  reports_.event(budget_->planned(job_, context_.device));
  return {};
}

/// The number of steps before the current epoch, of a job with `privacy`.
std::int64_t Leader::first_step() const {
  return progress_.epoch() / epochs_at_once() * steps_per_epoch_;
}

/// Whether no step of the epoch has been made. Otherwise the run goes on within an epoch, from a checkpoint.
bool Leader::begins_epoch() const {
  return budget_ ? step() <= first_step() : dealer_.ledger().done();
}

bool Leader::is_in_epoch() const {
  return budget_ ? step() < first_step() + steps_per_epoch_ && may_go_on() : !dealer_.ledger().done();
}

bool Leader::may_go_on() const {
  return !budget_ || step() < budget_->most();
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
  MG_RETURN_IF_ERROR(global_model_->restore(checkpoint).context("resume"));
  if (before.samples_per_step != rates_.basis().samples_per_step)
    reports_.event(ResumedWithOtherWorkers{before.samples_per_step, rates_.basis().samples_per_step});
  rates_ = LearningRates(before, samples_per_epoch_, job_.epochs());
  if (const std::optional<PrivacyOptions> privacy = privacy_of(job_)) {
    if (!clips_samples(job_) && before.samples_per_step != samples_per_step(0))
      return make_error(Code::invalid_argument,
                        "resume: the noise that protects workers was chosen for another number of them");
    MG_RETURN_IF_ERROR(plan_privacy(*privacy));
    const auto samples = static_cast<double>(checkpoint.step) * draw(before).samples;
    progress_.resume(checkpoint, std::llround(samples) * epochs_at_once());
    return {};
  }
  dealer_.resume(checkpoint.pending);
  const std::int64_t passes = std::min(epochs_at_once(), job_.epochs() - checkpoint.epoch);
  progress_.resume(checkpoint,
                   checkpoint.epoch * samples_per_epoch_ + (dealer_.ledger().done() ? 0 : samples_done() * passes));
  return {};
}

/// Of the epoch.
std::int64_t Leader::samples_done() const {
  if (budget_) {
    const std::int64_t steps = std::clamp<std::int64_t>(step() - first_step(), 0, steps_per_epoch_);
    return samples_per_epoch_ * steps / steps_per_epoch_;
  }
  return samples_per_epoch_ - static_cast<std::int64_t>(dealer_.ledger().unfinished_count());
}

/// The position (see LearningRates) when this number of the epoch's samples was done.
std::int64_t Leader::position(std::int64_t samples) const {
  return rates_.position(progress_.epoch(), samples, passes());
}

Status Leader::train_epoch() {
  if (begins_epoch()) {
    if (!budget_) dealer_.begin_epoch(progress_.epoch());
    progress_.begin_epoch();
  }
  while (is_in_epoch()) {
    if (context_.stop.stop_requested()) return stopped();
    dealer_.disown_all_but(workers_.in_use());
    MG_RETURN_IF_ERROR(advance());
    if (throttle_.passes(context_.clock.now(), !is_in_epoch())) report_progress();
    if (context_.clock.now() - last_checkpoint_ >= job_.checkpoint_every_s() && is_in_epoch())
      MG_RETURN_IF_ERROR(save_checkpoint());
  }
  progress_.end_epochs(passes());
  MG_RETURN_IF_ERROR(finish_epoch());
  return save_checkpoint();
}

/// Measures the validation split, where there is one, and reports the epoch that is done.
Status Leader::finish_epoch() {
  if (const std::int64_t samples = std::exchange(unlearnt_, 0); samples > 0)
    reports_.event(SamplesUnlearnt{
        .epoch = progress_.epoch(), .samples = samples, .aggregate = rule_ ? job_.aggregate() : "a secure sum"});
  Reports::Epoch report;
  report.epoch = progress_.epoch();
  report.train = progress_.epoch_stats();
  report.learning_rate = rate_at(position(0) - 1);
  std::string best_model;
  if (data_.validation_samples() > 0) {
    const Instant start = context_.clock.now();
    MG_TRY(const Evaluation measured, evaluate(/*validation=*/true));
    progress_.leave_out(context_.clock.now() - start);
    global_model_->schedule().observe(measured.loss);
    const double accuracy = measured.confusion.accuracy();
    if (global_model_->best().observe(report.epoch, accuracy, measured.loss)) best_model = model();
    report.validation = {true, accuracy, measured.loss, accuracy_at_exits(measured), global_model_->best()};
  }
  report.train_seconds = train_seconds();
  if (budget_) report.epsilon = budget_->spent(step());
  reports_.epoch(report, std::move(best_model));
  return {};
}

/// Of a run that was stopped between an epoch and its validation.
bool Leader::validation_is_due() const {
  const std::int64_t due = (progress_.epoch() + epochs_at_once() - 1) / epochs_at_once();
  return data_.validation_samples() > 0 && global_model_->schedule().plateau().epochs < due;
}

Work Leader::training(const SampleLedger::Samples& samples, const SampleLedger::Samples& next, bool next_epoch) const {
  Work work;
  work.set_kind(Work::TRAIN);
  work.set_version(step());
  work.set_epoch(progress_.epoch());
  work.mutable_samples()->Add(samples.begin(), samples.end());
  if (!next.empty()) {
    const std::size_t first_batch = std::min(next.size(), static_cast<std::size_t>(most_in_batch(job_)));
    work.mutable_next_samples()->Add(next.begin(), next.begin() + static_cast<std::ptrdiff_t>(first_batch));
    work.set_next_epoch(progress_.epoch() + (next_epoch ? passes() : 0));
  }
  return work;
}

std::size_t Leader::root_of(std::size_t workers) {
  return static_cast<std::size_t>(std::sqrt(static_cast<double>(workers)));
}

std::map<net::Rank, Work> Leader::assign(const net::RankSet& ranks, std::size_t count) {
  const std::int64_t next = progress_.epoch() + passes();
  const bool is_known = next < job_.epochs() && !budget_;  // what follows
  SampleDealer::Deal deal = dealer_.deal(workers_.speeds(ranks), count, is_known ? std::optional(next) : std::nullopt);
  if (deal.changed_shares) {
    Balanced balanced{.step = step(), .shares = {}};
    for (const auto& [rank, samples] : *deal.changed_shares) balanced.shares.push_back({reports_.node(rank), samples});
    reports_.event(balanced);
  }
  std::map<net::Rank, Work> works;
  for (const auto& [rank, dealt] : deal.works)
    works[rank] = training(dealt.samples, dealt.next, dealt.next_is_of_epoch_to_come);
  return works;
}

Result<std::optional<WorkerRoster::Answered>> Leader::next_answer() {
  if (context_.stop.stop_requested()) return stopped().error();
  return take_news();
}

Result<std::optional<WorkerRoster::Answered>> Leader::take_news() {
  MG_TRY(WorkerRoster::News news, workers_.next());
  if (auto* answered = std::get_if<WorkerRoster::Answered>(&news)) return std::optional(std::move(*answered));
  if (const auto* dropped = std::get_if<WorkerRoster::Dropped>(&news)) {
    drop(*dropped);
    dealer_.disown_all_but(workers_.in_use());
  }
  return std::optional<WorkerRoster::Answered>();
}

void Leader::drop(const WorkerRoster::Dropped& dropped) {
  if (work().holds(dropped.rank))
    reports_.work_reassigned(dropped.rank, dropped.reason, work().give_back(dropped.rank), step());
}

Status Leader::apply(std::span<const WorkerRoster::Answered> answers, float rate) {
  std::vector<GlobalModel::Part> parts;
  for (const WorkerRoster::Answered& answered : answers) parts.push_back({answered.body(), answered.answer.count()});
  return apply(answers, parts, rate);
}

Status Leader::apply(std::span<const WorkerRoster::Answered> answers, std::span<const GlobalModel::Part> parts,
                     float rate) {
  MG_RETURN_IF_ERROR(count_in(answers));
  last_rate_ *= rate;
  if (rule_ != nullptr) return global_model_->step(parts, *rule_, update_rate(last_rate_), step()).context("aggregate");
  global_model_->step(parts, update_rate(last_rate_), step());
  return {};
}

Status Leader::apply(std::span<const WorkerRoster::Answered> answers, std::span<const float> gradient) {
  MG_RETURN_IF_ERROR(count_in(answers));
  global_model_->step(gradient, update_rate(last_rate_), step());
  return {};
}

std::size_t Leader::least_vectors() const {
  if (rule_ != nullptr) return rule_->least();
  return job_.secure_aggregation() ? secure::kFewestClients : 1;
}

/// For messages.
std::string Leader::what_needs_vectors() const {
  return rule_ != nullptr ? "aggregate: '" + job_.aggregate() + "'" : "secure_aggregation: a sum";
}

Status Leader::await_workers() {
  const auto are_too_few = [&] {
    const std::size_t workers = workers_.in_use().size();
    return workers == 0 || vectors_in_update(workers) < least_vectors();
  };
  const Deadline deadline = context_.clock.after(kPatience * job_.step_timeout_s());
  while (are_too_few()) {
    MG_RETURN_IF_ERROR(next_answer());
    if (least_vectors() == 1 || context_.clock.now() < deadline) continue;
    const std::size_t left = workers_.in_use().size();
    MG_RETURN_IF_ERROR(save_checkpoint());
    return make_error(Code::failed_precondition,
                      what_needs_vectors() + " needs the updates of " + std::to_string(least_vectors()) +
                          " workers at once, and only " + std::to_string(left) +
                          " workers are left; a checkpoint was saved: resume it with more nodes");
  }
  return {};
}

Result<bool> Leader::are_enough(std::span<const WorkerRoster::Answered> answers, std::size_t asked) {
  if (answers.empty()) return false;
  if (answers.size() >= least_vectors()) return true;
  if (asked >= least_vectors()) {  // some have not answered
    for (auto answered = answers.rbegin(); answered != answers.rend(); ++answered) work().give_back(answered->rank);
    return false;
  }
  for (const WorkerRoster::Answered& answered : answers) unlearnt_ += answered.answer.count();
  MG_RETURN_IF_ERROR(count_in(answers, 0));
  return false;
}

/// The loss of a sample, if the job has a rule: the median of the workers' answers, since a lie may be any number.
std::optional<double> Leader::typical_loss(std::span<const WorkerRoster::Answered> answers) const {
  if (rule_ == nullptr) return std::nullopt;
  std::vector<double> losses;
  for (const WorkerRoster::Answered& answered : answers) {
    const double loss = answered.answer.loss() / static_cast<double>(answered.answer.count());
    losses.push_back(std::isfinite(loss) ? loss : std::numeric_limits<double>::infinity());
  }
  return median(std::move(losses));
}

Status Leader::count_in(std::span<const WorkerRoster::Answered> answers, std::int64_t steps) {
  learn::BatchStats stats;
  const std::optional<double> typical = typical_loss(answers);
  for (const WorkerRoster::Answered& answered : answers) {
    const Answer& answer = answered.answer;
    const double loss = typical ? *typical * static_cast<double>(answer.count()) : answer.loss();
    if (!std::isfinite(loss)) {
      return make_error(Code::out_of_range, "training diverged at step " + std::to_string(step()) +
                                                ": the loss became NaN or infinite; try a lower learning_rate");
    }
    const std::int64_t correct =
        typical ? std::clamp<std::int64_t>(answer.correct(), 0, answer.count()) : answer.correct();
    stats += {loss, correct, answer.count(), {answer.early_correct().begin(), answer.early_correct().end()}};
    if (advisor_) advisor_->add(answered.rank, answer.count(), answer.compute_s());
  }
  last_rate_ = rate_at(position(samples_done()));
  std::size_t samples = 0;
  for (const WorkerRoster::Answered& answered : answers) samples += work().finish(answered.rank);
  progress_.add(stats, static_cast<std::int64_t>(samples) * passes(), steps);
  if (!advisor_) return {};
  if (const auto advice = advisor_->end_update(train_seconds(), workers_.count())) reports_.event(AdviceGiven{*advice});
  return {};
}

void Leader::set_local_steps(Work& work, std::size_t count) const {
  const auto steps_on = [&](std::size_t samples) {
    return static_cast<std::int64_t>((samples + batch_ - 1) / batch_) * passes();
  };
  const std::int64_t steps = steps_on(static_cast<std::size_t>(work.samples_size()));
  const auto rates =
      rates_.local_rates(global_model_->schedule(), position(samples_done()), steps, std::min(steps, steps_on(count)));
  work.mutable_learning_rates()->Add(rates.begin(), rates.end());
  work.set_passes(passes());
}

/// What workers have not finished when the job is asked to stop is left to the run that resumes it.
Status Leader::stopped() {
  MG_RETURN_IF_ERROR(save_checkpoint());
  return make_error(Code::cancelled, "stopped at step " + std::to_string(step()) + ", checkpoint saved");
}

Status Leader::save_checkpoint() {
  MG_RETURN_IF_ERROR(collect());
  learn::Checkpoint checkpoint;
  const Instant now = context_.clock.now();
  checkpoint.job = with_pace(settings_, rates_.basis());
  global_model_->save(checkpoint);
  progress_.save(checkpoint, now);
  if (!budget_) checkpoint.pending = work().unfinished();  // else the next step draws anew
  checkpoint.micro_batches = workers_.micro_batches();
  reports_.checkpoint(checkpoint.epoch, checkpoint.step, learn::encode_checkpoint(checkpoint));
  last_checkpoint_ = now;
  return {};
}

Result<Evaluation> Leader::evaluate(bool validation) {
  MG_RETURN_IF_ERROR(collect());
  const EvaluationTask task{.validation = validation,
                            .samples = validation ? data_.validation_samples() : data_.test_samples(),
                            .classes = data_.classes_size(),
                            .batch = job_.batch(),
                            .version = step()};
  Result<Evaluation> evaluation = classify(task);
  if (!evaluation.ok() && context_.stop.stop_requested()) return stopped().error();
  return evaluation;
}

Result<Evaluation> Leader::classify(const EvaluationTask& task) {
  return evaluate_on_workers(context_, workers_, reports_, task, global_model_->evaluated());
}

/// As ONNX.
std::string Leader::model() {
  return encode_onnx(labelled(whole_network(job_, global_model_->model()), job_, data_));
}

void Leader::report_progress() {
  const std::int64_t epoch = progress_.epoch();
  const learn::BatchStats recent = progress_.take_recent();
  const auto count = static_cast<double>(std::max<std::int64_t>(1, recent.count));
  const std::int64_t per_update = samples_per_update(std::max<std::size_t>(1, workers_.in_use().size()));
  const auto updates_on = [&](std::int64_t samples) { return (samples + per_update - 1) / per_update; };
  const std::int64_t rounds_to_come = (job_.epochs() - epoch - 1) / epochs_at_once();
  job::Progress report{.phase = "train"};
  report.epoch = epoch + 1;
  report.epochs = job_.epochs();
  report.step = step();
  report.steps = step() + updates_on(static_cast<std::int64_t>(work().unfinished_count())) +
                 rounds_to_come * updates_on(samples_per_epoch_);
  if (budget_) report.steps = budget_->steps();
  if (budget_) report.epsilon = budget_->spent(step());
  report.total = job_.epochs() * samples_per_epoch_;
  report.done = progress_.samples();
  report.loss = recent.loss / count;
  report.accuracy = static_cast<double>(recent.correct) / count;
  report.learning_rate = last_rate_;
  report.images_per_s = progress_.samples_per_s(context_.clock.now());
  reports_.progress(std::move(report));
}

void Leader::finish(const Evaluation& test, Seconds train_seconds, Seconds eval_seconds) {
  const learn::BatchStats& last_epoch = progress_.epoch_stats();
  const auto count = static_cast<double>(std::max<std::int64_t>(1, last_epoch.count));
  TrainResult result;
  result.epochs = progress_.epoch();
  result.steps = step();
  result.samples = progress_.samples();
  result.batch = job_.batch();
  result.workers = std::ssize(workers_.ready());
  result.train_seconds = train_seconds;
  result.eval_seconds = eval_seconds;
  result.loss = last_epoch.loss / count;
  result.train_accuracy = static_cast<double>(last_epoch.correct) / count;
  result.classes = class_names(data_);
  result.set_best(global_model_->best());
  result.test_loss = test.loss;
  if (auto at_exits = accuracy_at_exits(test); !at_exits.empty()) result.exit_accuracy = std::move(at_exits);
  if (advisor_) result.advice = advisor_->advice();
  if (budget_) result.privacy = budget_->report(job_, context_.device, step());
  const auto& transfers = workers_.transfers();
  result.exchange = {ExchangeReport(transfers.uplink()), ExchangeReport(transfers.downlink()),
                     ExchangeReport(transfers.among_peers())};
  reports_.result(std::move(result), test.confusion, model());
}

}  // namespace mangrove::train
