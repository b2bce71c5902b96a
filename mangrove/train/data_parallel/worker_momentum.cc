#include "mangrove/train/data_parallel/worker_momentum.h"

#include "mangrove/base/check.h"
#include "mangrove/net/payload.h"

namespace mangrove::train {

std::string WorkerMomentum::accelerate(net::Rank rank, std::string_view body, std::int64_t samples) {
  values_.resize(body.size() / sizeof(float));
  MG_CHECK(net::read_floats(body, values_).ok());  // the caller has checked the length
  std::vector<float>& velocity = velocities_[rank];
  velocity.resize(parameters_);
  const auto count = static_cast<float>(samples);  // gradients are sums
  for (std::size_t i = 0; i < parameters_; ++i) {
    const float gradient = values_[i] / count;
    velocity[i] = momentum_ * velocity[i] + gradient;
    values_[i] = (momentum_ * velocity[i] + gradient) * count;
  }
  std::string accelerated;
  net::append_floats(accelerated, values_);
  return accelerated;
}

float shared_momentum(const learn::OptimizerOptions& optimizer) {
  return optimizer.name == "momentum" || optimizer.name == "nesterov" ? optimizer.momentum : 0;
}

learn::OptimizerOptions without_momentum(learn::OptimizerOptions optimizer) {
  const float growth = 1 / (1 - shared_momentum(optimizer));
  if (shared_momentum(optimizer) > 0) optimizer.name = "sgd";
  optimizer.weight_decay *= growth;
  optimizer.clip_norm *= growth;
  optimizer.clip_value *= growth;
  return optimizer;
}

}  // namespace mangrove::train
