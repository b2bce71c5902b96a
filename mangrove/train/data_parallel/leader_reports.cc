#include <algorithm>

#include "mangrove/train/data_parallel/leader.h"
#include "mangrove/train/dataset_summary.h"

// What the leader tells the client of a run.
namespace mangrove::train {

void Leader::report_progress() {
  Reports::Progress progress;
  progress.epoch = epoch_ + 1;
  progress.epochs = job_.epochs();
  progress.step = step_;
  progress.total = job_.epochs() * samples_per_epoch_;
  progress.done = samples_;
  const std::int64_t per_update = samples_per_update(std::max<std::size_t>(1, workers_.in_use().size()));
  const std::int64_t rest = (job_.epochs() - epoch_ - 1) / epochs_at_once();
  progress.steps = step_ + (static_cast<std::int64_t>(work_.unfinished_count()) + per_update - 1) / per_update +
                   rest * ((samples_per_epoch_ + per_update - 1) / per_update);
  const auto count = static_cast<double>(std::max<std::int64_t>(1, recent_.count));
  progress.loss = recent_.loss / count;
  progress.accuracy = static_cast<double>(recent_.correct) / count;
  progress.learning_rate = last_rate_;
  const Seconds seconds = train_seconds() - seconds_before_;
  progress.images_per_s = seconds > 0 ? static_cast<double>(samples_ - samples_before_) / seconds : 0;
  reports_.train_progress(progress);
  recent_ = {};
}

/// Says once, as soon as it is known, where one board alone would be faster.
void Leader::watch_speed() {
  meter_.end_update(train_seconds(), workers_.count());
  if (is_advised_ || !meter_.is_settled()) return;
  is_advised_ = true;
  const std::optional<Advice> known = advice();
  if (known && known->boards == 1) reports_.advice(*known);
}

/// By what was measured so far; nothing for one worker, or where that says nothing.
std::optional<Advice> Leader::advice() const {
  if (!can_be_advised()) return std::nullopt;
  std::optional<Speed> speed = meter_.speed();
  if (!speed) return std::nullopt;
  speed->batch = job_.batch();
  speed->samples_per_epoch = samples_per_epoch_;
  return advise(*speed);
}

void Leader::finish(const Evaluation& test, Seconds train_seconds) {
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
  result.class_names = class_names(data_);
  result.best = master_->best();
  result.test_loss = test.loss;
  result.exit_accuracy = accuracy_at_exits(test);
  result.advice = advice();
  result.pushed = workers_.transfers().pushed();
  result.pulled = workers_.transfers().pulled();
  result.among_peers = workers_.transfers().among_peers();
  reports_.result(result, test.confusion, model());
}

}  // namespace mangrove::train
