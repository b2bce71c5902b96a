#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/compress/histogram.h"

namespace mangrove::compress {

/// How the range of a value that will be bytes is chosen from what calibration saw: a row of the table.
/// Everything beyond the limit is clipped; a smaller one gives finer steps to the rest.
struct RangeMethod {
  std::string_view name;     // "minmax"
  std::string_view summary;  // one line
  /// The largest |x| that the bytes shall hold, for so many steps from 0 to it (127 signed, 255 unsigned). The
  /// histogram is not empty.
  double (*limit)(const Histogram& histogram, int steps);
};

/// The table; the first row is the default.
std::span<const RangeMethod> range_methods();
std::vector<std::string> range_method_names();
/// errors: invalid_argument (no such method; names the nearest).
Result<const RangeMethod*> find_range_method(std::string_view name);

}  // namespace mangrove::compress
