#include <algorithm>
#include <cmath>

#include "mangrove/learn/losses/rules.h"

namespace mangrove::learn::rules {

// -sum_k t_k log softmax(x)_k
double softmax_cross_entropy(std::span<const float> x, std::span<const float> t, const LossOptions&, double scale,
                             std::span<float> gradient) {
  const double largest = *std::max_element(x.begin(), x.end());  // subtracted, so that exp cannot overflow
  double sum = 0, mass = 0, loss = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double e = std::exp(x[k] - largest);
    sum += e;
    if (!gradient.empty()) gradient[k] = static_cast<float>(e);
  }
  const double log_sum = std::log(sum) + largest;
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (t[k] == 0) continue;  // 0 * infinity is no loss
    mass += t[k];
    loss += t[k] * (log_sum - x[k]);
  }
  const double share = mass / sum;
  for (std::size_t k = 0; k < gradient.size(); ++k)
    gradient[k] = static_cast<float>(scale * (share * gradient[k] - t[k]));
  return std::isnan(sum) ? sum : loss;
}

}  // namespace mangrove::learn::rules
