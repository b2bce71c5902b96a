#include "mangrove/learn/optimizers/rules.h"

namespace mangrove::learn::rules {

// source: Robbins & Monro, A stochastic approximation method, 1951
void sgd(const Update& update, const OptimizerOptions&) {
  float* __restrict w = update.weight.data();
  const float* __restrict g = update.gradient.data();
  const float rate = update.learning_rate, decay = update.weight_decay;
  const std::size_t elements = update.weight.size();
  in_wide_vectors([=]() __attribute__((always_inline)) {
    for (std::size_t i = 0; i < elements; ++i) w[i] -= rate * (g[i] + decay * w[i]);
  });
}

}  // namespace mangrove::learn::rules
