#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace mangrove::data {

/// SHA-256 (FIPS 180-4) as 64 lower-case hexadecimal digits.
std::string sha256(std::span<const std::uint8_t> bytes);
inline std::string sha256(std::string_view text) {
  return sha256(std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
}

}  // namespace mangrove::data
