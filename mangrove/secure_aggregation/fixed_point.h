#pragma once

#include <cstdint>
#include <span>

#include "mangrove/secure_aggregation/neighbours.h"

namespace mangrove::secure {

/// Numbers as words that can be summed modulo 2^32. Each number counts by a weight; those of all terms of a sum are at
/// most 1 together. So the sum never leaves the range of a term, and no sum of up to kMostClients terms overflows.
/// A number outside -range ... range counts as the end of it that is nearer. NaN counts as 0.
///
/// error   of a sum: at most half a step for each term. A step is range / (2^31 - 2^16), about range * 4.7e-10.
void encode(std::span<const float> values, double range, double weight, std::span<std::uint32_t> words);
/// One number of a sum of such words.
double decode(std::uint32_t word, double range);

/// Writes a number of a wide range as two words, of which each is summed by itself. A step is range / 2^46.
void encode_wide(double value, double range, double weight, std::span<std::uint32_t, 2> words);
double decode_wide(std::span<const std::uint32_t, 2> words, double range);

}  // namespace mangrove::secure
