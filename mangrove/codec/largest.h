#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mangrove::codec {

/// A number that orders floats as |value| does, with NaN above infinity. Floats themselves have no order with NaN.
constexpr std::uint32_t magnitude_bits(float value) {
  return std::bit_cast<std::uint32_t>(value) & 0x7fffffffu;
}

/// The indices, ascending, of the values whose magnitude_bits are at least `bound`. cost: one pass.
std::vector<std::uint32_t> reaching(std::span<const float> values, std::uint32_t bound);

/// The indices, ascending, of the `count` largest magnitudes; among equal ones the first. Zeros are never among them,
/// so there may be fewer. A sample of every 61st value gives a bound, so that few values have to be sorted. cost: one
/// pass over all values, two passes over little more than `count`, and a selection among few of these. If the sample
/// misleads, a selection among all values.
std::vector<std::uint32_t> largest(std::span<const float> values, std::size_t count);

}  // namespace mangrove::codec
