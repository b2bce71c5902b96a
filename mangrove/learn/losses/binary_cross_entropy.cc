#include <algorithm>
#include <cmath>

#include "mangrove/learn/losses/rules.h"

namespace mangrove::learn::rules {

// mean over k of -(t_k log s(x_k) + (1 - t_k) log(1 - s(x_k))), s the logistic function; as max(x, 0) - x t +
// log(1 + exp(-|x|)), which cannot overflow
double binary_cross_entropy(std::span<const float> x, std::span<const float> t, const LossOptions&, double scale,
                            std::span<float> gradient) {
  const auto classes = static_cast<double>(x.size());
  double loss = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double logit = x[k], small = std::exp(-std::abs(logit));
    loss += std::max(logit, 0.0) - logit * t[k] + std::log1p(small);
    const double logistic = logit >= 0 ? 1 / (1 + small) : small / (1 + small);
    if (!gradient.empty()) gradient[k] = static_cast<float>(scale / classes * (logistic - t[k]));
  }
  return loss / classes;
}

}  // namespace mangrove::learn::rules
