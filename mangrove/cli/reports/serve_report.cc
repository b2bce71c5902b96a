#include "mangrove/cli/reports/serve_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "mangrove/base/format.h"

namespace mangrove::cli {
namespace {

double rate_of(std::uint64_t count, Seconds seconds) {
  return static_cast<double>(count) / std::max(seconds, 1e-9);
}

/// "3 refused, 1 late, 0 failed"; "": none of these.
std::string losses_text(const serve::TrafficCounts& traffic) {
  if (traffic.answered == traffic.requests()) return "";
  return fmt::format("{} refused, {} late, {} failed", format_count(static_cast<std::int64_t>(traffic.refused)),
                     format_count(static_cast<std::int64_t>(traffic.late)),
                     format_count(static_cast<std::int64_t>(traffic.failed)));
}

std::string latency_text(const serve::TrafficCounts& traffic) {
  return fmt::format("p50 {}, p99 {}", format_seconds(traffic.quantile(0.5)), format_seconds(traffic.quantile(0.99)));
}

}  // namespace

nlohmann::json ServeReport::json() const {
  return {{"requests", traffic.requests()},
          {"answered", traffic.answered},
          {"refused", traffic.refused},
          {"late", traffic.late},
          {"failed", traffic.failed},
          {"requests_per_s", rate_of(traffic.answered, seconds)},
          {"latency", {{"p50_s", traffic.quantile(0.5)}, {"p99_s", traffic.quantile(0.99)}}},
          {"seconds", seconds}};
}

std::string ServeReport::text() const {
  std::string line =
      fmt::format("{} answered in {}", format_things(static_cast<std::int64_t>(traffic.answered), "request"),
                  format_seconds(seconds));
  if (traffic.answered > 0) line += ", " + latency_text(traffic);
  if (const std::string losses = losses_text(traffic); !losses.empty()) line += "; " + losses;
  return line + "\n";
}

std::string serve_line(const serve::TrafficCounts& traffic, Seconds seconds, std::int64_t waiting) {
  std::string line = format_rate(rate_of(traffic.answered, seconds), "requests");
  if (traffic.answered > 0) line += ", " + latency_text(traffic);
  line += fmt::format(", {} waiting", format_count(waiting));
  if (const std::string losses = losses_text(traffic); !losses.empty()) line += "; " + losses;
  return line;
}

}  // namespace mangrove::cli
