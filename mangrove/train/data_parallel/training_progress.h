#pragma once

#include <cstdint>

#include "mangrove/base/clock.h"
#include "mangrove/learn/checkpoint.h"
#include "mangrove/learn/loss.h"

namespace mangrove::train {

/// How far a training job is: epochs, steps and samples, sums over their losses, and the training time. A resumed job
/// counts on from its checkpoint. threads: one at a time.
class TrainingProgress {
 public:
  /// Counts on from a checkpoint. samples: the number of samples that the network had learnt from. To be called before
  /// begin().
  void resume(const learn::Checkpoint& checkpoint, std::int64_t samples);
  /// Training begins or goes on.
  void begin(Instant now) { start_ = now; }

  void begin_epoch() { epoch_stats_ = {}; }
  /// The network has learnt from these further samples, in these further steps.
  void add(const learn::BatchStats& stats, std::int64_t samples, std::int64_t steps);
  /// Counts finished epochs.
  void end_epochs(std::int64_t epochs) { epoch_ += epochs; }
  /// Time that was spent on something other than training.
  void leave_out(Seconds seconds) { left_out_ += seconds; }
  void save(learn::Checkpoint& checkpoint, Instant now) const;

  std::int64_t epoch() const { return epoch_; }      // epochs done
  std::int64_t step() const { return step_; }        // steps done
  std::int64_t samples() const { return samples_; }  // samples learnt from, in all epochs
  /// Sums over the current epoch so far; between two epochs, over the last one.
  const learn::BatchStats& epoch_stats() const { return epoch_stats_; }
  /// Sums since the last call.
  learn::BatchStats take_recent();
  /// Training time, including the time before the job was resumed.
  Seconds seconds(Instant now) const { return seconds_before_ + seconds_of_run(now); }
  /// Samples per second since begin(); 0: no time has passed.
  double samples_per_s(Instant now) const;

 private:
  Seconds seconds_of_run(Instant now) const { return now - start_ - left_out_; }

  std::int64_t epoch_ = 0, step_ = 0, samples_ = 0;
  learn::BatchStats epoch_stats_, recent_;
  std::int64_t samples_before_ = 0;  // samples of earlier runs
  Seconds seconds_before_ = 0;
  Instant start_;
  Seconds left_out_ = 0;
};

}  // namespace mangrove::train
