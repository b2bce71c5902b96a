#include "mangrove/learn/ema.h"

#include <algorithm>
#include <cstddef>

#include "mangrove/base/check.h"

namespace mangrove::learn {

void ema_update(std::span<float> average, std::span<const float> weights, float decay, std::int64_t step) {
  MG_CHECK(average.size() == weights.size());
  const auto t = static_cast<float>(step);
  const float keep = std::min(decay, (1 + t) / (10 + t));
  for (std::size_t i = 0; i < average.size(); ++i) average[i] += (1 - keep) * (weights[i] - average[i]);
}

}  // namespace mangrove::learn
