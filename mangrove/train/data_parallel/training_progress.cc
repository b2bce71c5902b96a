#include "mangrove/train/data_parallel/training_progress.h"

#include <utility>

namespace mangrove::train {

void TrainingProgress::resume(const learn::Checkpoint& checkpoint, std::int64_t samples) {
  epoch_ = checkpoint.epoch;
  step_ = checkpoint.step;
  epoch_stats_ = checkpoint.epoch_stats;
  seconds_before_ = checkpoint.train_seconds;
  samples_before_ = samples_ = samples;
}

void TrainingProgress::add(const learn::BatchStats& stats, std::int64_t samples, std::int64_t steps) {
  epoch_stats_ += stats;
  recent_ += stats;
  samples_ += samples;
  step_ += steps;
}

void TrainingProgress::save(learn::Checkpoint& checkpoint, Instant now) const {
  checkpoint.epoch = epoch_;
  checkpoint.step = step_;
  checkpoint.epoch_stats = epoch_stats_;
  checkpoint.train_seconds = seconds(now);
}

learn::BatchStats TrainingProgress::take_recent() {
  return std::exchange(recent_, {});
}

double TrainingProgress::samples_per_s(Instant now) const {
  const Seconds seconds = seconds_of_run(now);
  return seconds > 0 ? static_cast<double>(samples_ - samples_before_) / seconds : 0;
}

}  // namespace mangrove::train
