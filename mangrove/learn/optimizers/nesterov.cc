#include "mangrove/learn/optimizers/rules.h"

namespace mangrove::learn::rules {

// source: Sutskever et al., On the importance of initialization and momentum in deep learning, ICML 2013; in PyTorch's
// form, where the weights are those that the velocity will have carried
void nesterov(const Update& update, const OptimizerOptions& options) {
  float* __restrict w = update.weight.data();
  float* __restrict v = update.slots[0].data();
  const float* __restrict g = update.gradient.data();
  const float rate = update.learning_rate, decay = update.weight_decay, mu = options.momentum;
  const std::size_t elements = update.weight.size();
  in_wide_vectors([=]() __attribute__((always_inline)) {
    for (std::size_t i = 0; i < elements; ++i) {
      const float gradient = g[i] + decay * w[i];
      v[i] = mu * v[i] + gradient;
      w[i] -= rate * (gradient + mu * v[i]);
    }
  });
}

}  // namespace mangrove::learn::rules
