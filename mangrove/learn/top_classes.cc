#include "mangrove/learn/top_classes.h"

#include <algorithm>
#include <cmath>

#include "mangrove/learn/metrics.h"

namespace mangrove::learn {

std::vector<RankedClass> top_classes(std::span<const float> row, std::size_t count) {
  std::vector<RankedClass> ranked;
  if (row.empty() || std::ranges::any_of(row, [](float x) { return std::isnan(x); })) return ranked;
  for (const double probability : probabilities(row)) ranked.push_back({ranked.size(), probability});
  const std::size_t n = std::min(count, ranked.size());
  std::partial_sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(n), ranked.end(),
                    [](const RankedClass& a, const RankedClass& b) {
                      return a.probability != b.probability ? a.probability > b.probability : a.number < b.number;
                    });
  ranked.resize(n);
  return ranked;
}

}  // namespace mangrove::learn
