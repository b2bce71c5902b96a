#include "mangrove/cli/reports/event_log.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "mangrove/base/format.h"
#include "mangrove/cli/reports/event_text.h"
#include "mangrove/cli/reports/html.h"
#include "mangrove/cli/reports/json_values.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kMostEvents = 200;
constexpr std::size_t kLongest = 500;  // bytes of a line

}  // namespace

void EventLog::take(const json& line) {
  if (text_at(line, "kind") != "event" || text_at(line, "event") == "advice") return;
  json event = line;
  event.erase("kind");
  const std::string text = event_line(event);
  if (text.empty() || all_++ >= static_cast<std::int64_t>(kMostEvents)) return;
  auto time = number_at(event, "time_s");
  if (!time) time = number_at(event, "at_s");
  events_.push_back({time, shortened(text, kLongest), is_warning(event)});
}

std::string EventLog::html() const {
  if (events_.empty()) return {};
  std::string html = "<h2>Events</h2>\n<table class=\"texts\"><tr><th>after</th><th>what</th></tr>\n";
  for (const Event& event : events_)
    html += fmt::format("<tr><td>{}</td><td{}>{}</td></tr>\n", event.time ? format_seconds(*event.time) : "",
                        event.is_warning ? " class=\"b\"" : "", escaped(event.text));
  html += "</table>\n";
  const std::int64_t more = all_ - std::ssize(events_);
  if (more > 0) html += fmt::format("<p>and {} in metrics.jsonl</p>\n", format_things(more, "more event"));
  return html;
}

}  // namespace mangrove::cli
