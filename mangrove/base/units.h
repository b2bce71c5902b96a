#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mangrove/base/result.h"

namespace mangrove {

using Bytes = std::int64_t;
using Seconds = double;
using BytesPerSecond = double;

inline constexpr Bytes kFloatBytes = sizeof(float);

constexpr Bytes KiB(std::int64_t n) {
  return n << 10;
}
constexpr Bytes MiB(std::int64_t n) {
  return n << 20;
}
constexpr Bytes GiB(std::int64_t n) {
  return n << 30;
}

/// "256MB", "1.5GiB", "4096": kB, MB, GB are powers of 1000; KiB, MiB, GiB of 1024; case does not matter.
Result<Bytes> parse_bytes(std::string_view text);

/// "100mbit", "1gbit", "10kbit": link rates in bits, as `tc` writes them; "12MB/s": in bytes.
Result<BytesPerSecond> parse_rate(std::string_view text);

/// "30s", "500ms", "2min", "1.5": a bare number is seconds.
Result<Seconds> parse_seconds(std::string_view text);

/// 1.7 MB, 512 B: three significant digits, powers of 1000.
std::string format_bytes(Bytes bytes);

/// 850 ms, 12.3 s, 4 min 05 s.
std::string format_seconds(Seconds seconds);

}  // namespace mangrove
