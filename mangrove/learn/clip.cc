#include "mangrove/learn/clip.h"

#include <array>
#include <cmath>
#include <numeric>

namespace mangrove::learn {

double clip_factor(double sum_of_squares, double most) {
  if (!std::isfinite(sum_of_squares)) return 0;
  return sum_of_squares <= most * most ? 1 : most / std::sqrt(sum_of_squares);
}

/// In several sums, which do not wait for each other.
double sum_of_squares(std::span<const float> values) {
  std::array<double, 8> sums{};
  std::size_t i = 0;
  for (; i + sums.size() <= values.size(); i += sums.size())
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += double{values[i + k]} * values[i + k];
  for (; i < values.size(); ++i) sums[0] += double{values[i]} * values[i];
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace mangrove::learn
