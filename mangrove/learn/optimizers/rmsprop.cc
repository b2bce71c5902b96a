#include <cmath>

#include "mangrove/learn/optimizers/rules.h"

namespace mangrove::learn::rules {

// source: Tieleman & Hinton, Lecture 6.5, Neural networks for machine learning, 2012; without momentum, as PyTorch's
// default
void rmsprop(const Update& update, const OptimizerOptions& options) {
  float* __restrict w = update.weight.data();
  float* __restrict square = update.slots[0].data();
  const float* __restrict g = update.gradient.data();
  const float rate = update.learning_rate, decay = update.weight_decay;
  const float alpha = options.alpha, epsilon = options.epsilon;
  for (std::size_t i = 0; i < update.weight.size(); ++i) {
    const float gradient = g[i] + decay * w[i];
    square[i] = alpha * square[i] + (1 - alpha) * gradient * gradient;
    w[i] -= rate * gradient / (std::sqrt(square[i]) + epsilon);
  }
}

}  // namespace mangrove::learn::rules
