#include "mangrove/compress/k_means.h"

#include <algorithm>

#include "mangrove/base/check.h"

namespace mangrove::compress {
namespace {

constexpr int kMostRounds = 300;

/// Where each cluster ends among sorted numbers: at the middle between two centres.
std::vector<std::size_t> ends_of(const std::vector<float>& sorted, const std::vector<double>& centres) {
  std::vector<std::size_t> ends;
  for (std::size_t i = 0; i + 1 < centres.size(); ++i) {
    const double middle = (centres[i] + centres[i + 1]) / 2;
    const auto end = std::ranges::upper_bound(sorted, middle, {}, [](float x) { return static_cast<double>(x); });
    ends.push_back(static_cast<std::size_t>(end - sorted.begin()));
  }
  ends.push_back(sorted.size());
  return ends;
}

/// Moves each centre to the mean of its numbers; one without numbers stays.
void move_centres(const std::vector<double>& sums, const std::vector<std::size_t>& ends, std::vector<double>& centres) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < centres.size(); ++i) {
    if (ends[i] > begin) centres[i] = (sums[ends[i]] - sums[begin]) / static_cast<double>(ends[i] - begin);
    begin = ends[i];
  }
}

}  // namespace

Clusters k_means(std::span<const float> numbers, std::size_t clusters) {
  MG_CHECK(clusters > 0);
  Clusters result;
  if (numbers.empty()) return result;
  std::vector<float> sorted(numbers.begin(), numbers.end());
  std::ranges::sort(sorted);
  std::vector<double> sums = {0};
  for (const float number : sorted) sums.push_back(sums.back() + number);
  const double least = sorted.front(), range = sorted.back() - least;
  std::vector<double> centres;
  for (std::size_t i = 0; i < clusters; ++i)
    centres.push_back(clusters == 1 ? least + range / 2
                                    : least + range * static_cast<double>(i) / static_cast<double>(clusters - 1));
  std::vector<std::size_t> ends = ends_of(sorted, centres);
  for (int round = 0; round < kMostRounds; ++round) {
    move_centres(sums, ends, centres);
    std::vector<std::size_t> moved = ends_of(sorted, centres);
    if (moved == ends) break;
    ends = std::move(moved);
  }
  std::vector<float> last;  // the greatest number of each cluster
  std::size_t begin = 0;
  for (std::size_t i = 0; i < centres.size(); ++i) {
    if (ends[i] > begin) {
      result.centres.push_back(static_cast<float>(centres[i]));
      last.push_back(sorted[ends[i] - 1]);
    }
    begin = ends[i];
  }
  for (const float number : numbers)
    result.of.push_back(static_cast<std::uint32_t>(std::ranges::lower_bound(last, number) - last.begin()));
  return result;
}

}  // namespace mangrove::compress
