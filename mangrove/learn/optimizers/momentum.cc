#include "mangrove/learn/optimizers/rules.h"

namespace mangrove::learn::rules {

// source: Polyak, Some methods of speeding up the convergence of iteration methods, 1964; in PyTorch's form, where the
// learning rate is outside the velocity
void momentum(const Update& update, const OptimizerOptions& options) {
  float* __restrict w = update.weight.data();
  float* __restrict v = update.slots[0].data();
  const float* __restrict g = update.gradient.data();
  const float rate = update.learning_rate, decay = update.weight_decay, mu = options.momentum;
  const std::size_t elements = update.weight.size();
  in_wide_vectors([=]() __attribute__((always_inline)) {
    for (std::size_t i = 0; i < elements; ++i) {
      v[i] = mu * v[i] + (g[i] + decay * w[i]);
      w[i] -= rate * v[i];
    }
  });
}

}  // namespace mangrove::learn::rules
