#include "mangrove/base/parse_number.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "mangrove/base/format.h"

namespace mangrove {
namespace {

/// Reads the whole text as a number within [low, high]. least, most: low and high as the error writes them; most is ""
/// if the error is to name no upper end.
template <class Number>
Result<Number> parse(const std::string& text, const char* kind, Number low, Number high, const std::string& least,
                     const std::string& most) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, number);
  if (code == std::errc() && stop == end && number >= low && number <= high) return number;
  const std::string range = most.empty() ? "of " + least + " or more" : "from " + least + " to " + most;
  return make_error(Code::invalid_argument, "'" + text + "' is not a " + kind + " " + range);
}

}  // namespace

std::string bound_text(double bound) {
  constexpr double kWholeBelow = 1e15;
  const bool is_whole = std::abs(bound) < kWholeBelow && bound == std::floor(bound);
  return is_whole ? format_count(std::llround(bound)) : fmt::format("{}", bound);
}

Result<double> parse_number(const std::string& text, double low, double high) {
  return parse(text, "number", low, high, bound_text(low), high < kNoBound ? bound_text(high) : "");
}

Result<std::int64_t> parse_whole_number(const std::string& text, std::int64_t low, std::int64_t high) {
  const bool is_open = high == std::numeric_limits<std::int64_t>::max();
  return parse(text, "whole number", low, high, format_count(low), is_open ? "" : format_count(high));
}

}  // namespace mangrove
