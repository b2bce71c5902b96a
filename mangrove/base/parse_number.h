#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "mangrove/base/result.h"

namespace mangrove {

/// Messages about a range whose upper end is this or more do not name that end.
constexpr double kNoBound = std::numeric_limits<float>::max();

/// The end of a range as text for people: "1,048,576", "0.9999".
std::string bound_text(double bound);

/// Reads the whole text as a number from `low` to `high`, both included.
/// errors: invalid_argument: "'7' is not a number from 0.1 to 1".
Result<double> parse_number(const std::string& text, double low, double high);
/// Reads the whole text as a whole number from `low` to `high`, both included. If `high` is the largest std::int64_t,
/// the error names no upper end. errors: invalid_argument: "'7' is not a whole number from 1 to 5".
Result<std::int64_t> parse_whole_number(const std::string& text, std::int64_t low, std::int64_t high);

}  // namespace mangrove
