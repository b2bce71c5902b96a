#pragma once

#include "mangrove/train/data_parallel/leader.h"
#include "mangrove/train/data_parallel/private_update.h"

namespace mangrove::train {

/// Federated averaging whose model tells little of all that any one worker has: DP-FedAvg.
///
/// A round: each of the W workers takes part with probability q = client_fraction, whatever happened before. It makes
/// local_steps steps on its own samples, drawn anew each round, or local_epochs passes over all of them, and sends the
/// change of its values (n floats). The server cuts each change down to the norm `clip`, adds them up, adds Gaussian
/// noise of standard deviation noise x clip to each element, divides by q W, and makes an outer step with that. Each
/// worker counts the same, however many samples it has. An epoch is as many rounds as learn from as many samples as
/// there are, on average.
///
/// right    Of a round others see its noisy sum only. What any worker has moves the sum by at most `clip`, so
///          privacy::Accountant says what rounds cost.
/// faults   Who is lost, silent or failed adds nothing to the round. Nobody else gets its samples.
/// source   McMahan, Ramage, Talwar & Zhang, Learning differentially private recurrent language models, ICLR 2018,
///          algorithm 1 with flat clipping and the fixed-denominator estimator.
class PrivateAveraging final : public Leader {
 public:
  PrivateAveraging(const TrainJob& job, job::RoleContext& context, const Hyperparameters& recipe,
                   std::unique_ptr<GlobalModel> model);

 private:
  using Samples = SampleLedger::Samples;

  Status advance() override;
  void drop(const WorkerRoster::Dropped& dropped) override;
  std::int64_t samples_per_step(std::size_t workers) const override;
  std::int64_t epochs_at_once() const override;
  float update_rate(float) const override { return job().outer_learning_rate(); }
  std::size_t workers_in_step(std::size_t) const override;
  Draw draw(const StepBasis& basis) const override;
  double expected() const;
  std::size_t share() const;
  net::RankSet draw_workers(privacy::NoiseSource& noise) const;
  Samples samples_of(const net::RankSet& ranks) const;

  const std::size_t owners_;  // workers that have samples
  PrivateUpdate update_;
};

}  // namespace mangrove::train
