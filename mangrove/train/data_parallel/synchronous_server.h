#pragma once

#include "mangrove/train/data_parallel/leader.h"

namespace mangrove::train {

/// A parameter server that makes one update from one batch of each worker.
///
/// A step: the server sends the values (n floats) to P workers, with up to `batch` samples each. Each worker answers
/// with the gradient of the sum of its losses (n floats). The server adds the gradients up in the order of the ranks,
/// divides by the number of samples, and makes one update. With a quorum k below P, it makes the update with the first
/// k answers. The samples of the other workers are given out again, and these workers take part again once they have
/// answered (backup workers).
///
/// right    The gradient of a sum is the sum of the gradients. So P workers with batches of b samples compute what one
///          worker computes with a batch of P b samples. Without a quorum, two runs with one seed are bit-equal. With a
///          quorum, results depend on which workers answer first.
/// cost     A step moves P n f32 away from the server and P n f32 back, so the server's link bounds P. A codec makes
///          these messages smaller.
/// source   Li et al., Scaling distributed machine learning with the parameter server, OSDI 2014; Chen et al.,
///          Revisiting distributed synchronous SGD, 2016 (backup workers).
class SynchronousServer final : public Leader {
 public:
  /// quorum: answers that an update waits for; 0 means all.
  SynchronousServer(const TrainJob& job, job::RoleContext& context, const Hyperparameters& recipe,
                    std::unique_ptr<GlobalModel> model, std::size_t quorum)
      : Leader(job, context, recipe, std::move(model)), quorum_(quorum) {}

 private:
  Status advance() override;
  std::int64_t samples_per_step(std::size_t workers) const override;
  std::size_t workers_in_step(std::size_t workers) const override;
  std::size_t vectors_in_update(std::size_t workers) const override { return workers_in_step(workers); }
  void abandon_others();

  const std::size_t quorum_;
};

}  // namespace mangrove::train
