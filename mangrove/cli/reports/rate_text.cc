#include "mangrove/cli/reports/rate_text.h"

#include <fmt/format.h>

#include "mangrove/base/format.h"

namespace mangrove::cli {
namespace {

/// In thousands, millions or milliards, of which round ones have no zeros behind a point.
std::string in_thousands(double value, const char* unit) {
  const char* prefix = "k";
  value /= 1e3;
  for (const char* next : {"M", "G"}) {
    if (value < 999.5) break;
    value /= 1e3;
    prefix = next;
  }
  return fmt::format("{} {}{}", value < 999.5 ? fmt::format("{:.3g}", value) : format_number(value), prefix, unit);
}

}  // namespace

std::string rate_text(BytesPerSecond rate) {
  return rate > 0 ? in_thousands(8 * rate, "bit/s") : "no limit";
}

std::string flops_text(double flops_per_s) {
  return in_thousands(flops_per_s, "FLOP/s");
}

}  // namespace mangrove::cli
