#include "mangrove/cli/reports/event_log.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "mangrove/base/format.h"
#include "mangrove/base/report.h"
#include "mangrove/cli/reports/html.h"
#include "mangrove/cli/reports/metrics_line.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kMostEvents = 200;
constexpr std::size_t kLongest = 500;  // bytes of a line

}  // namespace

void EventLog::take(const json& line) {
  if (!is_line_of(line, report_kind_name(ReportKind::event))) return;
  EventText event = event_text(line);
  if (event.is_advice || event.line.empty() || all_++ >= static_cast<std::int64_t>(kMostEvents)) return;
  event.line = shortened(event.line, kLongest);
  events_.push_back(std::move(event));
}

std::string EventLog::html() const {
  if (events_.empty()) return {};
  std::string html = "<h2>Events</h2>\n<table class=\"texts\"><tr><th>after</th><th>what</th></tr>\n";
  for (const EventText& event : events_)
    html += fmt::format("<tr><td>{}</td><td{}>{}</td></tr>\n", event.time ? format_seconds(*event.time) : "",
                        event.is_warning ? " class=\"b\"" : "", escaped(event.line));
  html += "</table>\n";
  const std::int64_t more = all_ - std::ssize(events_);
  if (more > 0) html += fmt::format("<p>and {} in metrics.jsonl</p>\n", format_things(more, "more event"));
  return html;
}

}  // namespace mangrove::cli
