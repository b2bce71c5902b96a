#pragma once

#include "mangrove/train/data_parallel/leader.h"
#include "mangrove/train/data_parallel/private_update.h"

namespace mangrove::train {

/// A parameter server whose model tells little of any one sample: DP-SGD.
///
/// A step: each of the N samples takes part with probability q = B / N, whatever happened before; B is what all workers
/// of the job have in their batches. Each worker computes the gradient of each of its samples by itself, cuts it down
/// to the norm `clip`, and sends the sum (n floats). The server adds the sums up, adds Gaussian noise of standard
/// deviation noise x clip to each element, divides by B, and makes one update. An epoch is N / B steps.
///
/// right    Of a step the workers and the model see its noisy sum only. Any sample moves the sum by at most `clip`, so
///          privacy::Accountant says what steps cost. The order of additions depends on the workers, nothing else does:
///          P workers with batches of b compute what one computes with a batch of P b, but for roundings, where the
///          draws and the noise are those of a seed.
/// faults   The samples of a lost worker go to the others, in the same step. Without workers it waits.
/// source   Abadi et al., Deep learning with differential privacy, CCS 2016, algorithm 1.
class PrivateServer final : public Leader {
 public:
  PrivateServer(const TrainJob& job, job::RoleContext& context, const Hyperparameters& recipe,
                std::unique_ptr<GlobalModel> model);

 private:
  Status advance() override;
  std::int64_t samples_per_step(std::size_t workers) const override;
  Draw draw(const StepBasis& basis) const override;
  SampleLedger::Samples draw_samples(privacy::NoiseSource& noise) const;

  PrivateUpdate update_;
};

}  // namespace mangrove::train
