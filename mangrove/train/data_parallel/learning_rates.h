#pragma once

#include <cstdint>
#include <vector>

#include "mangrove/learn/schedule.h"
#include "mangrove/train/job_settings.h"

namespace mangrove::train {

/// The learning rates of a job's steps. The schedule follows the samples, not the steps: when workers are lost, steps
/// become more and smaller, and the rate still ends where it should. A position is a number of steps of the size that
/// was settled when the run began; without losses it is the number of steps done.
class LearningRates {
 public:
  LearningRates() = default;
  /// samples_per_epoch: above 0.
  LearningRates(const StepBasis& basis, std::int64_t samples_per_epoch, std::int64_t epochs)
      : basis_(basis), samples_per_epoch_(samples_per_epoch), epochs_(epochs) {}

  const StepBasis& basis() const { return basis_; }
  std::int64_t steps_per_epoch() const {
    return (samples_per_epoch_ + basis_.samples_per_step - 1) / basis_.samples_per_step;
  }
  /// After so many epochs, and so many samples of the next one which is gone through `passes` times at once.
  std::int64_t position(std::int64_t epochs, std::int64_t samples, std::int64_t passes) const {
    return epochs * steps_per_epoch() + samples * passes / basis_.samples_per_step;
  }
  /// Of the step at this position.
  float rate(const learn::Schedule& schedule, std::int64_t position) const;
  /// Of `steps` steps that a worker makes on its own from this position on, while the job comes forward by `of_job`.
  std::vector<float> local_rates(const learn::Schedule& schedule, std::int64_t position, std::int64_t steps,
                                 std::int64_t of_job) const;

 private:
  std::int64_t total() const { return steps_per_epoch() * epochs_; }

  StepBasis basis_;
  std::int64_t samples_per_epoch_ = 0, epochs_ = 0;
};

}  // namespace mangrove::train
