#include "mangrove/secure_aggregation/shamir.h"

#include <array>
#include <cstring>

#include "mangrove/base/check.h"

namespace mangrove::secure {
namespace {

using Byte = std::uint8_t;
using Words = std::array<std::uint64_t, kKeyBytes / 8>;  // 8 bytes in each, which never touch each other

Words words_of(const Secret& secret) {
  Words words;
  std::memcpy(words.data(), secret.bytes().data(), kKeyBytes);
  return words;
}

/// All bytes times x, in GF(2^8) modulo x^8 + x^4 + x^3 + x + 1.
void double_bytes(Words& words) {
  for (std::uint64_t& word : words) word = (word & 0x7f7f7f7f7f7f7f7f) << 1 ^ (word >> 7 & 0x0101010101010101) * 0x1b;
}

/// All bytes times a factor that is no secret: the time depends on it, and not on the bytes.
Words multiply(Words words, Byte factor) {
  Words product{};
  for (; factor != 0; factor = static_cast<Byte>(factor >> 1)) {
    if ((factor & 1) != 0)
      for (std::size_t i = 0; i < words.size(); ++i) product[i] ^= words[i];
    double_bytes(words);
  }
  return product;
}

Byte multiply(Byte a, Byte b) {
  return static_cast<Byte>(multiply(Words{a}, b)[0]);
}

/// a^254. a: above 0.
Byte inverse(Byte a) {
  Byte power = 1;
  for (int i = 0; i < 7; ++i) {
    a = multiply(a, a);
    power = multiply(power, a);
  }
  return power;
}

Byte place(std::size_t number) {
  MG_CHECK(number < kMostShares);
  return static_cast<Byte>(number + 1);
}

}  // namespace

std::vector<Secret> share(const Secret& secret, std::size_t threshold, std::size_t count, const RandomSource& random) {
  MG_CHECK(threshold >= 1 && threshold <= count && count <= kMostShares);
  std::vector<Secret> coefficients(threshold);  // of x^0, x^1, ...: of all bytes
  coefficients[0] = secret;
  for (std::size_t power = 1; power < threshold; ++power) random(coefficients[power].bytes());
  std::vector<Secret> shares(count);
  for (std::size_t number = 0; number < count; ++number) {
    Words value{};
    for (std::size_t power = threshold; power-- > 0;) {  // Horner
      value = multiply(value, place(number));
      const Words coefficient = words_of(coefficients[power]);
      for (std::size_t i = 0; i < value.size(); ++i) value[i] ^= coefficient[i];
    }
    std::memcpy(shares[number].bytes().data(), value.data(), kKeyBytes);
  }
  return shares;
}

/// Lagrange's interpolation at 0. In this field a difference is a sum.
Secret combine(std::span<const std::pair<std::size_t, Secret>> shares) {
  Words sum{};
  for (const auto& [number, value] : shares) {
    Byte above = 1, below = 1;
    for (const auto& [other, unused] : shares) {
      if (other == number) continue;
      above = multiply(above, place(other));
      below = multiply(below, static_cast<Byte>(place(other) ^ place(number)));
    }
    const Words term = multiply(words_of(value), multiply(above, inverse(below)));
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] ^= term[i];
  }
  Secret secret;
  std::memcpy(secret.bytes().data(), sum.data(), kKeyBytes);
  return secret;
}

}  // namespace mangrove::secure
