#include "mangrove/learn/optimizers/rules.h"

namespace mangrove::learn::rules {

// source: Robbins & Monro, A stochastic approximation method, 1951
void sgd(const Update& update, const OptimizerOptions&) {
  float* __restrict w = update.weight.data();
  const float* __restrict g = update.gradient.data();
  const float rate = update.learning_rate, decay = update.weight_decay;
  for (std::size_t i = 0; i < update.weight.size(); ++i) w[i] -= rate * (g[i] + decay * w[i]);
}

}  // namespace mangrove::learn::rules
