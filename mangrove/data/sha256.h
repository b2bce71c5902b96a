#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace mangrove::data {

/// SHA-256 (FIPS 180-4) as 64 lower-case hexadecimal digits.
std::string sha256(std::span<const std::uint8_t> bytes);

}  // namespace mangrove::data
