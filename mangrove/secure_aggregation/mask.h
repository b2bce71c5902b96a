#pragma once

#include <cstdint>
#include <span>

#include "mangrove/secure_aggregation/secret.h"

namespace mangrove::secure {

enum class Sign { plus, minus };

/// Adds to each word a word of the stream that this seed gives, or subtracts it, modulo 2^32. Who does not have the
/// seed cannot tell the result from uniform words. cost: no memory beside the words.
void add_mask(const Secret& seed, Sign sign, std::span<std::uint32_t> words);

}  // namespace mangrove::secure
