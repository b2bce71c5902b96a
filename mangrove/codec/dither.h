#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "mangrove/base/random.h"

namespace mangrove::codec {

/// Random numbers for stochastic rounding: a value between two levels is rounded up with a probability that is its
/// distance from the lower level. The numbers have sixteen bits, so the mean of rounded values is off by at most 2^-16
/// of the distance between two levels.
class Dither {
 public:
  static constexpr std::size_t kMost = 512;

  explicit Dither(std::uint64_t seed) : random_(seed) {}

  /// `count` numbers, at most kMost, each with equal probability one of 0 .. 65535. Valid until the next call.
  std::span<const std::uint16_t> next(std::size_t count) {
    for (std::size_t i = 0; i < count; i += 4) {
      const std::uint64_t bits = random_.next();
      std::memcpy(&numbers_[i], &bits, sizeof bits);
    }
    return std::span(numbers_).first(count);
  }

 private:
  Random random_;
  std::array<std::uint16_t, kMost> numbers_{};
};

}  // namespace mangrove::codec
