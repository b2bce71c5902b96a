#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mangrove/base/units.h"

namespace mangrove {

// How numbers are written for people, everywhere: with format_bytes and format_seconds (units.h) this is the only
// place. No exponents, three digits where a number was measured, "?" for what is no number.

/// 15,340: thousands are separated.
std::string format_count(std::int64_t count);

/// Three significant digits, or a whole number with separated thousands: 15,340, 152, 17.3, 1.73, 0.0253.
std::string format_number(double value);

/// 97.61 %
std::string format_percent(double share, int decimals = 2);

/// 15,340 images/s
std::string format_rate(double per_second, std::string_view what = "images");

/// 1 epoch, 3 epochs, 15,340 images: `one` gets an s, unless `many` is given (1 branch, 2 branches).
std::string format_things(std::int64_t count, std::string_view one, std::string_view many = "");

}  // namespace mangrove
