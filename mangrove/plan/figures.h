#pragma once

#include <cmath>

#include "mangrove/plan/layers.h"

namespace mangrove::plan {

// What a device file may say; beyond, sums and quotients are no longer numbers.
constexpr Seconds kLongest = 1e9;
constexpr BytesPerSecond kSlowest = 1e-3;
constexpr Bytes kMostMemory = 1'000 * kMostBytes;

inline bool is_amount(double number) {
  return std::isfinite(number) && number >= 0;
}

inline bool is_time(Seconds seconds) {
  return is_amount(seconds) && seconds <= kLongest;
}

/// 0: not limited.
inline bool is_rate(BytesPerSecond rate) {
  return is_amount(rate) && (rate == 0 || rate >= kSlowest);
}

inline bool is_memory(Bytes bytes) {
  return bytes >= 0 && bytes <= kMostMemory;
}

}  // namespace mangrove::plan
