#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "mangrove/base/result.h"

namespace mangrove {

/// A range that ends here, or above, has no upper end that is worth saying.
constexpr double kNoBound = std::numeric_limits<float>::max();

/// As people write an end of a range: 1,048,576; 0.9999.
std::string bound_text(double bound);

/// The whole text as a number from `low` to `high`, both included.
/// errors: invalid_argument: "'7' is not a number from 0.1 to 1".
Result<double> parse_number(const std::string& text, double low, double high);
/// The same of whole numbers; the largest `high` there is stands for no upper end. errors: invalid_argument.
Result<std::int64_t> parse_whole_number(const std::string& text, std::int64_t low, std::int64_t high);

}  // namespace mangrove
