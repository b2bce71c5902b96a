#include <cmath>

#include "mangrove/learn/optimizers/rules.h"

namespace mangrove::learn::rules {

// source: Kingma & Ba, Adam: a method for stochastic optimization, ICLR 2015, algorithm 1
void adam_step(const Update& update, const OptimizerOptions& options, float decay) {
  float* __restrict w = update.weight.data();
  float* __restrict m = update.slots[0].data();
  float* __restrict v = update.slots[1].data();
  const float* __restrict g = update.gradient.data();
  const double t = static_cast<double>(update.step);
  const double correction1 = 1 - std::pow(static_cast<double>(options.beta1), t);
  const double correction2 = 1 - std::pow(static_cast<double>(options.beta2), t);
  const auto rate = static_cast<float>(update.learning_rate / correction1);
  const auto root2 = static_cast<float>(1 / std::sqrt(correction2));
  const float beta1 = options.beta1, beta2 = options.beta2, epsilon = options.epsilon;
  for (std::size_t i = 0; i < update.weight.size(); ++i) {
    const float gradient = g[i] + decay * w[i];
    m[i] = beta1 * m[i] + (1 - beta1) * gradient;
    v[i] = beta2 * v[i] + (1 - beta2) * gradient * gradient;
    w[i] -= rate * m[i] / (std::sqrt(v[i]) * root2 + epsilon);
  }
}

void adam(const Update& update, const OptimizerOptions& options) {
  adam_step(update, options, update.weight_decay);
}

}  // namespace mangrove::learn::rules
