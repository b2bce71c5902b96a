#include "mangrove/learn/losses/rules.h"

namespace mangrove::learn::rules {

// mean over k of (x_k - t_k)^2
double mse(std::span<const float> x, std::span<const float> t, const LossOptions&, double scale,
           std::span<float> gradient) {
  const auto classes = static_cast<double>(x.size());
  double loss = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double difference = static_cast<double>(x[k]) - t[k];
    loss += difference * difference;
    if (!gradient.empty()) gradient[k] = static_cast<float>(scale * 2 / classes * difference);
  }
  return loss / classes;
}

}  // namespace mangrove::learn::rules
