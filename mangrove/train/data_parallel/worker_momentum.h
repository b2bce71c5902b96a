#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/net/endpoint.h"
#include "mangrove/train/hyperparameters.h"

namespace mangrove::train {

/// Momentum for asynchronous updates. With one velocity for all workers, old gradients would act for long, and training
/// diverges at rates that are fine for synchronous steps. So each worker has a velocity v of its own, and its update
/// looks ahead by it: v = momentum * v + g, and the update is momentum * v + g.
/// source  Hakimi et al., Taming momentum in a distributed asynchronous environment, 2019 (DANA-Slim).
class WorkerMomentum {
 public:
  /// parameters: elements of the gradients.
  WorkerMomentum(float momentum, std::size_t parameters) : momentum_(momentum), parameters_(parameters) {}

  /// The body of an answer (see GlobalModel::Part), with the update in place of the gradient.
  std::string accelerate(net::Rank rank, std::string_view body, std::int64_t samples);
  /// A worker that comes back begins with a velocity of zero.
  void forget(net::Rank rank) { velocities_.erase(rank); }

 private:
  const float momentum_;
  const std::size_t parameters_;
  std::map<net::Rank, std::vector<float>> velocities_;
  std::vector<float> values_;
};

/// The momentum of an optimizer that has one velocity for all workers. 0 for other optimizers: Adam and its relatives
/// are left as they are.
float shared_momentum(const learn::OptimizerOptions& optimizer);

/// The optimizer for updates with a worker's momentum: it has no momentum of its own. Its decay and clipping are scaled
/// by the factor by which a velocity enlarges a constant gradient.
learn::OptimizerOptions without_momentum(learn::OptimizerOptions optimizer);

}  // namespace mangrove::train
