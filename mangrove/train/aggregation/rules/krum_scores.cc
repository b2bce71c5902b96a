#include "mangrove/train/aggregation/rules/krum_scores.h"

#include <algorithm>
#include <numeric>
#include <span>

namespace mangrove::train::rules {
namespace {

double squared_distance(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += (double{a[k]} - b[k]) * (double{a[k]} - b[k]);
  return sum;
}

/// The squared distances of each vector to each vector.
std::vector<std::vector<double>> squared_distances(const Vectors& vectors) {
  const std::size_t n = vectors.count();
  std::vector<std::vector<double>> distances(n, std::vector<double>(n));
  by_block(vectors, [&](std::size_t, std::span<const std::span<const float>> rows) {
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < i; ++j) distances[i][j] += squared_distance(rows[i], rows[j]);
  });
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < i; ++j) distances[j][i] = distances[i][j];
  return distances;
}

}  // namespace

std::vector<std::size_t> by_krum_score(const Vectors& vectors, std::size_t liars) {
  const std::size_t n = vectors.count(), nearest = n > liars + 2 ? n - liars - 2 : 1;
  std::vector<std::vector<double>> distances = squared_distances(vectors);
  std::vector<double> scores(n);
  for (std::size_t i = 0; i < n; ++i) {
    std::sort(distances[i].begin(), distances[i].end());  // the first is that to itself, 0
    const auto last = distances[i].begin() + static_cast<std::ptrdiff_t>(std::min(nearest + 1, n));
    scores[i] = std::accumulate(distances[i].begin(), last, 0.0);
  }
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] < scores[b]; });
  return order;
}

}  // namespace mangrove::train::rules
