#include "mangrove/learn/loss.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "mangrove/base/check.h"

namespace mangrove::learn {
namespace {

/// Loss of one row; gradient, unless empty, becomes scale * (softmax(x) - onehot(label)).
double row_loss(std::span<const float> x, std::size_t label, double scale, std::span<float> gradient) {
  const double largest = *std::max_element(x.begin(), x.end());  // subtracted, so that exp cannot overflow
  double sum = 0;
  for (const float logit : x) sum += std::exp(logit - largest);
  if (!gradient.empty()) {
    const double factor = scale / sum;
    for (std::size_t i = 0; i < x.size(); ++i) gradient[i] = static_cast<float>(factor * std::exp(x[i] - largest));
    gradient[label] = static_cast<float>(factor * std::exp(x[label] - largest) - scale);
  }
  return std::log(sum) + largest - x[label];
}

}  // namespace

BatchStats& BatchStats::operator+=(const BatchStats& other) {
  loss += other.loss;
  correct += other.correct;
  count += other.count;
  return *this;
}

BatchStats softmax_cross_entropy(std::span<const float> logits, std::span<const std::int32_t> labels,
                                 std::int32_t classes, float scale, std::span<float> gradient) {
  const auto width = static_cast<std::size_t>(classes);
  MG_CHECK(classes > 0 && logits.size() == labels.size() * width);
  MG_CHECK(gradient.empty() || gradient.size() == logits.size());
  BatchStats stats;
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const std::span<const float> x = logits.subspan(row * width, width);
    const std::span<float> g = gradient.empty() ? gradient : gradient.subspan(row * width, width);
    if (labels[row] < 0) {
      std::fill(g.begin(), g.end(), 0.0f);
      continue;
    }
    MG_CHECK(labels[row] < classes);
    const auto label = static_cast<std::size_t>(labels[row]);
    stats.loss += row_loss(x, label, scale, g);
    stats.correct += std::max_element(x.begin(), x.end()) == x.begin() + labels[row] ? 1 : 0;
    stats.count += 1;
  }
  return stats;
}

}  // namespace mangrove::learn
