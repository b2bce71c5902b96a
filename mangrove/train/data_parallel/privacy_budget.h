#pragma once

#include <cstdint>

#include "mangrove/base/result.h"
#include "mangrove/job/device.h"
#include "mangrove/privacy/accountant.h"
#include "mangrove/privacy/noise_source.h"
#include "mangrove/train/data_parallel/privacy_key.h"
#include "mangrove/train/events.h"
#include "mangrove/train/result.h"

namespace mangrove::train {

/// What a job with `privacy` may still do. All its steps are alike, so their number says what has been spent, and a run
/// that is resumed goes on counting from it.
/// threads: immutable; any.
class PrivacyBudget {
 public:
  /// rate: with which each sample or worker is in a step. steps: that the job has in all. errors: those of
  /// Accountant::for_steps; invalid_argument (the job's noise is so little that one step is too much).
  static Result<PrivacyBudget> create(const PrivacyOptions& options, double rate, std::int64_t steps);

  const PrivacyOptions& options() const { return options_; }
  double rate() const { return accountant_.rate(); }
  double noise() const { return accountant_.noise(); }
  double deviation() const { return accountant_.noise() * options_.clip; }  // of the noise on a step's sum
  std::int64_t steps() const { return steps_; }                             // that the job has
  std::int64_t most() const { return most_; }                               // of them, that are within the budget
  /// Epsilon after so many steps.
  double spent(std::int64_t steps) const { return accountant_.epsilon(steps, options_.budget.delta); }

  /// What is told when the job begins. device: the leader's, whose noise it is.
  PrivacyPlanned planned(const TrainJob& job, const job::Device& device) const;
  /// What is told of a job that ends after so many steps.
  PrivacyReport report(const TrainJob& job, const job::Device& device, std::int64_t steps) const;

 private:
  PrivacyBudget(const PrivacyOptions& options, privacy::Accountant accountant, std::int64_t steps);

  PrivacyOptions options_;
  privacy::Accountant accountant_;
  std::int64_t steps_, most_;
};

/// Whether the noise comes from the job's seed, because the device must do the same again.
bool noise_is_of_seed(const job::Device& device);
/// For the step after so many: who is in it, and its noise. From the device's secret where it has one, else from the
/// job's seed. device: outlives it.
privacy::NoiseSource noise_of_step(const TrainJob& job, const job::Device& device, std::int64_t step);

}  // namespace mangrove::train
