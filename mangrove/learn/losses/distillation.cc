#include <algorithm>
#include <cmath>
#include <vector>

#include "mangrove/learn/losses/rules.h"

namespace mangrove::learn::rules {
namespace {

/// log softmax(x / temperature)
std::vector<double> log_softmax(std::span<const float> x, double temperature) {
  const double largest = *std::max_element(x.begin(), x.end());
  std::vector<double> logs;
  double sum = 0;
  for (const float logit : x) sum += std::exp((logit - largest) / temperature);
  for (const float logit : x) logs.push_back((logit - largest) / temperature - std::log(sum));
  return logs;
}

}  // namespace

// T^2 KL(softmax(t / T) || softmax(x / T)), T the temperature and t the teacher's logits; T^2 keeps the size of the
// gradient when T changes. source: Hinton, Vinyals & Dean, Distilling the knowledge in a neural network, 2015
double distillation(std::span<const float> x, std::span<const float> t, const LossOptions& options, double scale,
                    std::span<float> gradient) {
  const double temperature = options.temperature;
  const std::vector<double> teacher = log_softmax(t, temperature), student = log_softmax(x, temperature);
  double divergence = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double p = std::exp(teacher[k]);
    if (p > 0) divergence += p * (teacher[k] - student[k]);
    if (!gradient.empty()) gradient[k] = static_cast<float>(scale * temperature * (std::exp(student[k]) - p));
  }
  return temperature * temperature * divergence;
}

}  // namespace mangrove::learn::rules
