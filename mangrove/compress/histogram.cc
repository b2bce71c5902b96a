#include "mangrove/compress/histogram.h"

#include <algorithm>
#include <cmath>

namespace mangrove::compress {

double Histogram::largest() const {
  return std::max(std::abs(static_cast<double>(low_)), std::abs(static_cast<double>(high_)));
}

void Histogram::cover(double largest) {
  if (largest == 0) return;
  if (width_ == 0) {  // the zeros before are in bin 0 whatever its width
    width_ = largest / (kBins - 1);
    return;
  }
  while (largest >= width_ * kBins) {
    for (std::size_t i = 0; i < kBins / 2; ++i) counts_[i] = counts_[2 * i] + counts_[2 * i + 1];
    std::fill(counts_.begin() + kBins / 2, counts_.end(), 0u);
    width_ *= 2;
  }
}

bool Histogram::add(std::span<const float> elements) {
  if (elements.empty()) return true;
  if (!std::ranges::all_of(elements, [](float x) { return std::isfinite(x); })) return false;
  const auto [low, high] = std::ranges::minmax(elements);
  low_ = empty() ? low : std::min(low_, low);
  high_ = empty() ? high : std::max(high_, high);
  total_ += elements.size();
  cover(largest());
  const double bins_per_unit = width_ == 0 ? 0 : 1 / width_;
  for (const float x : elements) {
    const auto bin = static_cast<std::size_t>(std::abs(static_cast<double>(x)) * bins_per_unit);
    ++counts_[std::min(bin, kBins - 1)];
  }
  return true;
}

}  // namespace mangrove::compress
