#include "mangrove/codec/largest.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include "mangrove/base/check.h"

namespace mangrove::codec {
namespace {

constexpr std::size_t kStride = 61;  // between samples: odd, so that no row length of a network is a multiple of it
constexpr std::uint32_t kLeastMagnitude = 1;  // of magnitude_bits other than zero's

/// Magnitudes between which the last of the largest lies, nearly always.
struct Bounds {
  std::uint32_t lower = kLeastMagnitude, upper = ~std::uint32_t{0};
};

/// Judged by a sample. (Lin et al. 2018 select among what a sample's threshold leaves, too.)
Bounds sampled_bounds(std::span<const float> values, std::size_t count) {
  std::vector<std::uint32_t> sample;
  sample.reserve(values.size() / kStride + 1);
  for (std::size_t i = 0; i < values.size(); i += kStride) sample.push_back(magnitude_bits(values[i]));
  auto end = sample.end();
  const auto nth_largest = [&](double rank) {
    const auto place = sample.begin() + static_cast<std::ptrdiff_t>(rank);
    std::nth_element(sample.begin(), place, end, std::greater<>());
    end = place;  // smaller ranks are before it
    return *place;
  };
  const double expected = static_cast<double>(count) / kStride;
  // four standard deviations to each side: one vector in ten thousand has to be gone through again
  const double spread = 4 * std::sqrt(expected) + 4;
  Bounds bounds;
  if (expected + spread < static_cast<double>(sample.size()))
    bounds.lower = std::max(nth_largest(expected + spread), kLeastMagnitude);
  if (expected >= spread && expected - spread < static_cast<double>(end - sample.begin()))
    bounds.upper = nth_largest(expected - spread);
  return bounds;
}

/// A magnitude, and how many of those that are equal to it belong to the largest: all larger ones do.
struct Last {
  std::uint32_t magnitude = 0;
  std::size_t equal = 0;
};

/// Of the `count` largest at these indices, of which there are more. upper: a guess of what it does not exceed.
Last last_of(std::span<const float> values, std::span<const std::uint32_t> indices, std::size_t count,
             std::uint32_t upper) {
  std::vector<std::uint32_t> open(indices.size());
  std::size_t opens = 0;
  for (const std::uint32_t index : indices) {  // without branches, which would be taken at random
    open[opens] = magnitude_bits(values[index]);
    opens += open[opens] <= upper ? 1 : 0;
  }
  const std::size_t above = indices.size() - opens;
  if (above >= count) return last_of(values, indices, count, Bounds{}.upper);
  open.resize(opens);
  const auto last = open.begin() + static_cast<std::ptrdiff_t>(count - above - 1);
  std::nth_element(open.begin(), last, open.end(), std::greater<>());
  const auto is_equal = [&](std::uint32_t magnitude) { return magnitude == *last; };
  return {*last, static_cast<std::size_t>(std::count_if(open.begin(), last + 1, is_equal))};
}

}  // namespace

std::vector<std::uint32_t> reaching(std::span<const float> values, std::uint32_t bound) {
  MG_CHECK(values.size() <= std::numeric_limits<std::uint32_t>::max());
  constexpr std::size_t kBlock = 64;
  std::vector<std::uint32_t> indices;
  std::array<std::uint32_t, kBlock> found{};
  for (std::size_t start = 0; start < values.size(); start += kBlock) {
    const std::span<const float> block = values.subspan(start, std::min(kBlock, values.size() - start));
    std::int32_t most = 0;  // first by a loop that is vectorised: mostly a block has none
    for (const float value : block) most = std::max(most, static_cast<std::int32_t>(magnitude_bits(value)));
    if (static_cast<std::uint32_t>(most) < bound) continue;
    std::size_t count = 0;
    for (std::size_t i = 0; i < block.size(); ++i) {
      found[count] = static_cast<std::uint32_t>(start + i);
      count += magnitude_bits(block[i]) >= bound ? 1 : 0;
    }
    indices.insert(indices.end(), found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count));
  }
  return indices;
}

std::vector<std::uint32_t> largest(std::span<const float> values, std::size_t count) {
  if (count == 0) return {};
  const Bounds bounds = sampled_bounds(values, count);
  std::vector<std::uint32_t> indices = reaching(values, bounds.lower);
  if (indices.size() < count && bounds.lower > kLeastMagnitude) indices = reaching(values, kLeastMagnitude);
  if (indices.size() <= count) return indices;

  Last last = last_of(values, indices, count, bounds.upper);
  std::size_t kept = 0;
  for (const std::uint32_t index : indices) {
    const std::uint32_t magnitude = magnitude_bits(values[index]);
    const bool is_equal = magnitude == last.magnitude && last.equal > 0;
    last.equal -= is_equal ? 1 : 0;
    indices[kept] = index;
    kept += is_equal || magnitude > last.magnitude ? 1 : 0;
  }
  indices.resize(kept);
  return indices;
}

}  // namespace mangrove::codec
