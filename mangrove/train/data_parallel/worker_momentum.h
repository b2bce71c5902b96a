#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/net/endpoint.h"
#include "mangrove/train/hyperparameters.h"

namespace mangrove::train {

/// Momentum for updates out of step. One velocity for all workers would make old gradients steer for long, which
/// diverges at rates that are fine in step; so each worker has a velocity of its own, and its updates look ahead by it:
/// with v = momentum * v + g, the update is momentum * v + g.
/// source  Hakimi et al., Taming momentum in a distributed asynchronous environment, 2019 (DANA-Slim).
class WorkerMomentum {
 public:
  /// parameters: elements of the gradients.
  WorkerMomentum(float momentum, std::size_t parameters) : momentum_(momentum), parameters_(parameters) {}

  /// An answer's body (see GlobalModel::Part) with the gradient replaced by the update.
  std::string accelerate(net::Rank rank, std::string_view body, std::int64_t samples);
  /// A worker that comes back begins anew.
  void forget(net::Rank rank) { velocities_.erase(rank); }

 private:
  const float momentum_;
  const std::size_t parameters_;
  std::map<net::Rank, std::vector<float>> velocities_;
  std::vector<float> values_;
};

/// The momentum of an optimizer that has one for all workers; 0 for others (adam and its like are left as they are).
float shared_momentum(const learn::OptimizerOptions& optimizer);

/// The optimizer for accelerated gradients: without a momentum of its own, and with decay and clipping as much stronger
/// as a velocity makes them in the long run.
learn::OptimizerOptions without_momentum(learn::OptimizerOptions optimizer);

}  // namespace mangrove::train
