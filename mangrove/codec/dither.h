#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "mangrove/base/random.h"

namespace mangrove::codec {

/// Random numbers for stochastic rounding: a value between two levels becomes the upper one as often as it is near to
/// it. Sixteen bits each, so what is added to a mean is at most 2^-16 of the distance of two levels.
class Dither {
 public:
  static constexpr std::size_t kMost = 512;

  explicit Dither(std::uint64_t seed) : random_(seed) {}

  /// `count` numbers, at most kMost, each evenly one of 0 .. 65535. They hold until the next call.
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
