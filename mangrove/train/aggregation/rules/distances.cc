#include "mangrove/train/aggregation/rules/distances.h"

#include <cmath>

namespace mangrove::train::rules {

std::vector<double> distances_to(std::span<const float> centre, const Vectors& vectors) {
  std::vector<double> distances(vectors.count());
  by_block(vectors, [&](std::size_t first, std::span<const std::span<const float>> rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (std::size_t k = 0; k < rows[i].size(); ++k) {
        const double difference = double{rows[i][k]} - centre[first + k];
        distances[i] += difference * difference;
      }
    }
  });
  for (double& distance : distances) distance = std::sqrt(distance);
  return distances;
}

void move(std::span<float> centre, const Vectors& vectors, std::span<const double> shares) {
  by_block(vectors, [&](std::size_t first, std::span<const std::span<const float>> rows) {
    for (std::size_t k = 0; k < rows.front().size(); ++k) {
      float& value = centre[first + k];
      double moved = value;
      for (std::size_t i = 0; i < rows.size(); ++i) moved += shares[i] * (double{rows[i][k]} - value);
      value = static_cast<float>(moved);
    }
  });
}

}  // namespace mangrove::train::rules
