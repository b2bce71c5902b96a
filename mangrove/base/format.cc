#include "mangrove/base/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace mangrove {
namespace {

constexpr const char* kUnknown = "?";
constexpr double kLargest = 9e18;  // that a whole number of 64 bits holds

std::string grouped(std::string digits) {
  const std::size_t first = digits.starts_with('-') ? 1 : 0;
  for (std::size_t end = digits.size(); end > first + 3;) {
    end -= 3;
    digits.insert(end, ",");
  }
  return digits;
}

/// Three significant digits of a value in [0, 999.5), without the zeros at its end.
std::string short_number(double value) {
  return fmt::format("{:.3g}", value);
}

}  // namespace

std::string format_count(std::int64_t count) {
  return grouped(std::to_string(count));
}

std::string format_number(double value) {
  if (!std::isfinite(value) || std::abs(value) > kLargest) return kUnknown;
  const double size = std::abs(value);
  if (size == 0) return "0";
  if (size >= 99.5) return format_count(std::llround(value));
  const int before_point = static_cast<int>(std::floor(std::log10(size))) + 1;
  return fmt::format("{:.{}f}", value, std::clamp(3 - before_point, 0, 9));
}

std::string format_percent(double share, int decimals) {
  if (!std::isfinite(share)) return kUnknown;
  return fmt::format("{:.{}f} %", 100 * share, decimals);
}

std::string format_rate(double per_second, std::string_view what) {
  return fmt::format("{} {}/s", format_number(per_second), what);
}

std::string format_things(std::int64_t count, std::string_view one, std::string_view many) {
  if (count == 1) return fmt::format("1 {}", one);
  return many.empty() ? fmt::format("{} {}s", format_count(count), one)
                      : fmt::format("{} {}", format_count(count), many);
}

std::string format_bytes(Bytes bytes) {
  constexpr std::array<const char*, 5> names{"B", "kB", "MB", "GB", "TB"};
  if (bytes < 0) return kUnknown;  // somebody's nonsense: a size is never negative
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < names.size()) value /= 1000, ++unit;
  if (unit == 0) return fmt::format("{} B", bytes);
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", value, decimals, names[unit]);
}

std::string format_seconds(Seconds seconds) {
  if (!(seconds >= 0) || seconds > kLargest) return kUnknown;
  if (seconds == 0) return "0 s";
  if (seconds < 0.9995e-6) return "< 1 us";
  if (seconds < 0.9995e-3) return short_number(seconds * 1e6) + " us";
  if (seconds < 0.9995) return short_number(seconds * 1e3) + " ms";
  if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
  const std::int64_t whole = std::llround(seconds);
  if (whole < 3600) return fmt::format("{} min {:02d} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02d} min", format_count(whole / 3600), whole / 60 % 60);
}

}  // namespace mangrove
