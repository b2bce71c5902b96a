#pragma once

#include <cstdint>
#include <vector>

#include "mangrove/learn/schedule.h"
#include "mangrove/train/job_settings.h"

namespace mangrove::train {

/// The learning rates of a job's steps. The schedule follows samples, not steps. When workers are lost, steps become
/// smaller and more, and the rate still ends where it should. A position is a number of steps of the size that was
/// settled when the run began. Without losses it is the number of steps done.
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
  /// The position after this number of epochs, and this number of samples of the next epoch, in which each sample
  /// counts for `passes` passes.
  std::int64_t position(std::int64_t epochs, std::int64_t samples, std::int64_t passes) const {
    return epochs * steps_per_epoch() + samples * passes / basis_.samples_per_step;
  }
  /// The learning rate of the step at this position.
  float rate(const learn::Schedule& schedule, std::int64_t position) const;
  /// The rates of `steps` steps that a worker makes on its own from this position on, while the job advances by
  /// `of_job` steps.
  std::vector<float> local_rates(const learn::Schedule& schedule, std::int64_t position, std::int64_t steps,
                                 std::int64_t of_job) const;

 private:
  std::int64_t total() const { return steps_per_epoch() * epochs_; }

  StepBasis basis_;
  std::int64_t samples_per_epoch_ = 0, epochs_ = 0;
};

}  // namespace mangrove::train
