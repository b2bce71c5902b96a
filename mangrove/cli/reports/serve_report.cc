#include "mangrove/cli/reports/serve_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

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

nlohmann::json sensors_json(const sensors::SensorCounts& counts) {
  nlohmann::json sources = nlohmann::json::array();
  for (const sensors::SourceCounts& source : counts.sources) {
    nlohmann::json one = {{"source", source.source}};
    for (const sensors::SourceCounter& counter : sensors::source_counters()) one[counter.name] = counter.value(source);
    sources.push_back(std::move(one));
  }
  nlohmann::json report = {{"sources", std::move(sources)}};
  for (const sensors::SensorCounter& counter : sensors::sensor_counters()) report[counter.name] = counter.value(counts);
  return report;
}

/// "air: 20 received, 19 answered, 1 dropped": a line for each source, without what has not happened.
std::string sensors_text(const sensors::SensorCounts& counts) {
  std::string text;
  for (const sensors::SourceCounts& source : counts.sources) {
    text += fmt::format("{}: {} received", source.source, format_count(static_cast<std::int64_t>(source.received)));
    for (const sensors::SourceCounter& counter : sensors::source_counters())
      if (const std::uint64_t value = counter.value(source); value > 0 && std::string_view(counter.name) != "received")
        text += fmt::format(", {} {}", format_count(static_cast<std::int64_t>(value)), counter.name);
    text += "\n";
  }
  return text + fmt::format("{} sent, {} still to send, {} dropped for want of room\n",
                            format_count(static_cast<std::int64_t>(counts.sent)),
                            format_count(static_cast<std::int64_t>(counts.waiting)),
                            format_count(static_cast<std::int64_t>(counts.unsent)));
}

}  // namespace

nlohmann::json ServeReport::json() const {
  nlohmann::json report = {{"requests", traffic.requests()},
                           {"answered", traffic.answered},
                           {"refused", traffic.refused},
                           {"late", traffic.late},
                           {"failed", traffic.failed},
                           {"requests_per_s", rate_of(traffic.answered, seconds)},
                           {"latency", {{"p50_s", traffic.quantile(0.5)}, {"p99_s", traffic.quantile(0.99)}}},
                           {"seconds", seconds}};
  if (sensors) report.emplace("sensors", sensors_json(*sensors));
  return report;
}

std::string ServeReport::text() const {
  std::string line =
      fmt::format("{} answered in {}", format_things(static_cast<std::int64_t>(traffic.answered), "request"),
                  format_seconds(seconds));
  if (traffic.answered > 0) line += ", " + latency_text(traffic);
  if (const std::string losses = losses_text(traffic); !losses.empty()) line += "; " + losses;
  return line + "\n" + (sensors ? sensors_text(*sensors) : "");
}

std::string serve_line(const serve::TrafficCounts& traffic, Seconds seconds, std::int64_t waiting) {
  std::string line = format_rate(rate_of(traffic.answered, seconds), "requests");
  if (traffic.answered > 0) line += ", " + latency_text(traffic);
  line += fmt::format(", {} waiting", format_count(waiting));
  if (const std::string losses = losses_text(traffic); !losses.empty()) line += "; " + losses;
  return line;
}

}  // namespace mangrove::cli
