#include "mangrove/codec/largest.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "mangrove/base/check.h"

namespace mangrove::codec {
namespace {

constexpr std::size_t kStride = 61;  // between samples: odd, so that no row length of a network is a multiple of it
constexpr std::uint32_t kLeast = 1;  // of magnitude_bits other than zero's

/// A magnitude that a little more than `count` of the values reach, judged by a sample of them. (Lin et al. 2018 select
/// among what a sample's threshold leaves, too.)
std::uint32_t sampled_bound(std::span<const float> values, std::size_t count) {
  std::vector<std::uint32_t> sample;
  sample.reserve(values.size() / kStride + 1);
  for (std::size_t i = 0; i < values.size(); i += kStride) sample.push_back(magnitude_bits(values[i]));
  const double expected = static_cast<double>(count) / kStride;
  // four standard deviations more than expected: one vector in thirty thousand has to be gone through again
  const auto rank = static_cast<std::size_t>(expected + 4 * std::sqrt(expected) + 4);
  if (rank >= sample.size()) return kLeast;
  std::nth_element(sample.begin(), sample.begin() + static_cast<std::ptrdiff_t>(rank), sample.end(), std::greater<>());
  return std::max(sample[rank], kLeast);
}

/// Indices, rising, of the magnitudes that reach the bound.
std::vector<std::uint32_t> reaching(std::span<const float> values, std::uint32_t bound) {
  std::vector<std::uint32_t> indices;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (magnitude_bits(values[i]) >= bound) indices.push_back(static_cast<std::uint32_t>(i));
  }
  return indices;
}

}  // namespace

std::vector<std::uint32_t> largest(std::span<const float> values, std::size_t count) {
  MG_CHECK(values.size() <= std::numeric_limits<std::uint32_t>::max());
  if (count == 0) return {};
  const std::uint32_t bound = sampled_bound(values, count);
  std::vector<std::uint32_t> indices = reaching(values, bound);
  if (indices.size() < count && bound > kLeast) indices = reaching(values, kLeast);
  if (indices.size() <= count) return indices;

  // the magnitude, and behind it the index such that the first of equal ones is the largest
  const auto key = [values](std::uint32_t index) {
    return (std::uint64_t{magnitude_bits(values[index])} << 32) | ~index;
  };
  std::vector<std::uint64_t> keys(indices.size());
  std::transform(indices.begin(), indices.end(), keys.begin(), key);
  const auto last = keys.begin() + static_cast<std::ptrdiff_t>(count - 1);
  std::nth_element(keys.begin(), last, keys.end(), std::greater<>());
  std::erase_if(indices, [&key, least = *last](std::uint32_t index) { return key(index) < least; });
  return indices;
}

}  // namespace mangrove::codec
