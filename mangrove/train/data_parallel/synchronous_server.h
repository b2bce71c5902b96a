#pragma once

#include "mangrove/train/data_parallel/leader.h"

namespace mangrove::train {

/// A parameter server whose every update is of one batch of each worker: the values go out, gradients come back and are
/// added up in rank order, so that P workers of batch b compute what one computes with batch P*b, and two runs with one
/// seed are bit-equal.
///
/// With a quorum k below the number of workers, an update is made with the first k answers; the samples of the others
/// go to later steps, and they take part again when they have answered. Then results depend on who is first. source
/// Chen et al., Revisiting distributed synchronous SGD, 2016 (backup workers).
class SynchronousServer final : public Leader {
 public:
  /// quorum: 0 waits for all.
  SynchronousServer(const TrainJob& job, job::RoleContext& context, const Hyperparameters& recipe,
                    std::unique_ptr<GlobalModel> model, std::size_t quorum)
      : Leader(job, context, recipe, std::move(model)), quorum_(quorum) {}

 private:
  Status advance() override;
  std::int64_t samples_per_step(std::size_t workers) const override;
  std::size_t workers_in_step(std::size_t workers) const override;
  void abandon_others();

  const std::size_t quorum_;
};

}  // namespace mangrove::train
