#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "mangrove/secure_aggregation/secret.h"

namespace mangrove::secure {

/// The most shares of a secret: a share's place is a byte above 0.
constexpr std::size_t kMostShares = 255;

/// Cuts a secret into shares: any `threshold` of them make it up again, and fewer are uniform bytes that say nothing
/// about it. Each byte is shared by itself, as the constant of a random polynomial over GF(2^8); share number i is its
/// value at i + 1. Its time does not depend on the secret.
///
/// threshold   1 to count.
/// count       at most kMostShares.
/// cost        32 * count * threshold multiplications.
/// source      Shamir, How to share a secret, Communications of the ACM 1979.
std::vector<Secret> share(const Secret& secret, std::size_t threshold, std::size_t count, const RandomSource& random);

/// The secret of these shares, each with its number. shares: as many as the threshold, with different numbers below
/// kMostShares. From fewer, or changed ones, comes something else.
Secret combine(std::span<const std::pair<std::size_t, Secret>> shares);

}  // namespace mangrove::secure
