#include "mangrove/base/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <span>

namespace mangrove {
namespace {

struct Unit {
  std::string_view name;  // lower case
  double factor;
};

constexpr Unit byte_units[] = {
    {"", 1},      {"b", 1},        {"kb", 1e3},        {"mb", 1e6},           {"gb", 1e9},
    {"tb", 1e12}, {"kib", 1024.0}, {"mib", 1048576.0}, {"gib", 1073741824.0}, {"tib", 1099511627776.0}};
constexpr Unit rate_units[] = {{"bit", 1.0 / 8}, {"kbit", 1e3 / 8}, {"mbit", 1e6 / 8}, {"gbit", 1e9 / 8},
                               {"b/s", 1},       {"kb/s", 1e3},     {"mb/s", 1e6},     {"gb/s", 1e9}};
constexpr Unit second_units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"min", 60}, {"h", 3600}};

Result<double> parse_quantity(std::string_view text, std::span<const Unit> units, const char* expected) {
  const Error error = make_error(Code::invalid_argument, fmt::format("'{}' is not {}", text, expected));
  double number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || !std::isfinite(number) || number < 0) return error;
  std::string unit;
  for (const char* c = end; c != text.data() + text.size(); ++c)
    if (*c != ' ') unit += static_cast<char>(std::tolower(static_cast<unsigned char>(*c)));
  const auto found = std::find_if(units.begin(), units.end(), [&](const Unit& u) { return u.name == unit; });
  if (found == units.end()) return error;
  return number * found->factor;
}

}  // namespace

Result<Bytes> parse_bytes(std::string_view text) {
  const char* expected = "a size like 256MB, 1GiB or 4096";
  MG_TRY(const double bytes, parse_quantity(text, byte_units, expected));
  if (bytes > 9e18) return make_error(Code::invalid_argument, fmt::format("'{}' is not {}", text, expected));
  return static_cast<Bytes>(std::llround(bytes));
}

Result<BytesPerSecond> parse_rate(std::string_view text) {
  return parse_quantity(text, rate_units, "a rate like 100mbit or 12MB/s");
}

Result<Seconds> parse_seconds(std::string_view text) {
  return parse_quantity(text, second_units, "a duration like 30s, 500ms or 2min");
}

}  // namespace mangrove
