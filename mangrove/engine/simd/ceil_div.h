#pragma once

#include <cstdint>

namespace mangrove::simd {

/// How many parts of size `part` cover `whole`: rounded up, at least 0.
inline std::int64_t ceil_div(std::int64_t whole, std::int64_t part) {
  return whole <= 0 ? 0 : (whole + part - 1) / part;
}

}  // namespace mangrove::simd
