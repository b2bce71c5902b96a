#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mangrove::codec {

/// Orders as |value| does, and NaN above infinity: unlike numbers, which NaN leaves without an order.
constexpr std::uint32_t magnitude_bits(float value) {
  return std::bit_cast<std::uint32_t>(value) & 0x7fffffffu;
}

/// Indices, rising, of the values whose magnitude_bits are `bound` or more. cost: one pass.
std::vector<std::uint32_t> reaching(std::span<const float> values, std::uint32_t bound);

/// Indices, rising, of the `count` largest magnitudes; of equal ones the first. Zeros are never among them, so there
/// may be fewer. cost: one pass over all, two over little more than `count`, and a selection among a few of these; of a
/// vector in which a sample of every 61st misleads, a selection among all.
std::vector<std::uint32_t> largest(std::span<const float> values, std::size_t count);

}  // namespace mangrove::codec
