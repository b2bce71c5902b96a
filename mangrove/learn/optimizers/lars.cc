#include <cmath>

#include "mangrove/learn/optimizers/rules.h"

namespace mangrove::learn::rules {
namespace {

double norm(std::span<const float> vector) {
  double sum = 0;
  for (const float x : vector) sum += static_cast<double>(x) * x;
  return std::sqrt(sum);
}

/// The rate of this parameter, relative to the learning rate. Parameters that weight decay spares take the learning
/// rate as it is, and so does one of norm 0 (it could never leave 0 otherwise).
double local_rate(const Update& update, float trust) {
  if (update.spared) return 1;
  const double of_weight = norm(update.weight), of_gradient = norm(update.gradient);
  const double reach = of_gradient + update.weight_decay * of_weight;
  return of_weight > 0 && reach > 0 ? trust * of_weight / reach : 1;
}

}  // namespace

// source: You, Gitman & Ginsburg, Large batch training of convolutional networks, 2017, algorithm 1
void lars(const Update& update, const OptimizerOptions& options) {
  const auto rate = static_cast<float>(update.learning_rate * local_rate(update, options.trust));
  float* __restrict w = update.weight.data();
  float* __restrict v = update.slots[0].data();
  const float* __restrict g = update.gradient.data();
  const float decay = update.weight_decay, mu = options.momentum;
  for (std::size_t i = 0; i < update.weight.size(); ++i) {
    v[i] = mu * v[i] + rate * (g[i] + decay * w[i]);
    w[i] -= v[i];
  }
}

}  // namespace mangrove::learn::rules
