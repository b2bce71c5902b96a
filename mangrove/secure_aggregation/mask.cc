#include "mangrove/secure_aggregation/mask.h"

#include <algorithm>
#include <array>

#include "mangrove/secure_aggregation/primitives.h"

namespace mangrove::secure {
namespace {

/// Little-endian, so that boards of every kind have the same mask.
std::uint32_t word_at(const std::uint8_t* bytes) {
  return static_cast<std::uint32_t>(bytes[0]) | static_cast<std::uint32_t>(bytes[1]) << 8 |
         static_cast<std::uint32_t>(bytes[2]) << 16 | static_cast<std::uint32_t>(bytes[3]) << 24;
}

}  // namespace

void add_mask(const Secret& seed, Sign sign, std::span<std::uint32_t> words) {
  constexpr std::size_t kWords = 1024;
  std::array<std::uint8_t, 4 * kWords> bytes;
  KeyStream stream(seed);
  while (!words.empty()) {
    const std::size_t count = std::min(kWords, words.size());
    stream.read(std::span(bytes).first(4 * count));
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t mask = word_at(&bytes[4 * i]);
      words[i] += sign == Sign::plus ? mask : 0u - mask;
    }
    words = words.subspan(count);
  }
}

}  // namespace mangrove::secure
