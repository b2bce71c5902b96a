#pragma once

#include <cstdint>

#include "mangrove/base/clock.h"
#include "mangrove/learn/checkpoint.h"
#include "mangrove/learn/loss.h"

namespace mangrove::train {

/// How far a training job is, and what it has come to: epochs, steps and samples, sums over their losses, and the time
/// that they took. A job that is resumed counts on from its checkpoint. threads: one at a time.
class TrainingProgress {
 public:
  /// Counts on from a checkpoint; samples: that the network had learnt from. Before begin().
  void resume(const learn::Checkpoint& checkpoint, std::int64_t samples);
  /// Training begins, or goes on.
  void begin(Instant now) { start_ = now; }

  void begin_epoch() { epoch_stats_ = {}; }
  /// The network has learnt from so many samples more, in so many steps.
  void add(const learn::BatchStats& stats, std::int64_t samples, std::int64_t steps);
  /// So many epochs are over.
  void end_epochs(std::int64_t epochs) { epoch_ += epochs; }
  /// So much of the time went into something other than training.
  void leave_out(Seconds seconds) { left_out_ += seconds; }
  void save(learn::Checkpoint& checkpoint, Instant now) const;

  std::int64_t epoch() const { return epoch_; }      // epochs done
  std::int64_t step() const { return step_; }        // steps done
  std::int64_t samples() const { return samples_; }  // that the network has learnt from, in all epochs
  /// Of this epoch so far; between epochs, of the last one.
  const learn::BatchStats& epoch_stats() const { return epoch_stats_; }
  /// Since the last call.
  learn::BatchStats take_recent();
  /// Of training, also before the job was resumed.
  Seconds seconds(Instant now) const { return seconds_before_ + seconds_of_run(now); }
  /// Since begin(); 0: no time has passed.
  double samples_per_s(Instant now) const;

 private:
  Seconds seconds_of_run(Instant now) const { return now - start_ - left_out_; }

  std::int64_t epoch_ = 0, step_ = 0, samples_ = 0;
  learn::BatchStats epoch_stats_, recent_;
  std::int64_t samples_before_ = 0;  // of runs before this one
  Seconds seconds_before_ = 0;
  Instant start_;
  Seconds left_out_ = 0;
};

}  // namespace mangrove::train
