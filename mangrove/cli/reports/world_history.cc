#include "mangrove/cli/reports/world_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "mangrove/base/format.h"
#include "mangrove/cli/reports/html.h"
#include "mangrove/cli/reports/svg_chart.h"
#include "mangrove/job/json_fields.h"

namespace mangrove::cli {
namespace {

constexpr std::size_t kMostPurposes = 16;
constexpr std::size_t kMostFaults = 200;
constexpr std::size_t kMostWorldRows = 40;  // devices in the picture of faults
constexpr double kWorldWidth = 980, kLabel = 110, kRow = 22, kBar = 14;

struct FaultStyle {
  std::string_view kind;
  const char* style;
};
constexpr FaultStyle kFaults[] = {{"crash", "n6"}, {"freeze", "n2"}, {"partition", "n7"}, {"slow_link", "n1"}};

const FaultStyle* style_of(const std::string& kind) {
  const auto* found = std::ranges::find(kFaults, kind, &FaultStyle::kind);
  return found == std::end(kFaults) ? nullptr : found;
}

/// What of a line of events.jsonl (docs/simulation.md) is shown.
struct WorldEvent {
  Seconds time = 0;
  std::string event;
  std::optional<std::string> purpose;  // of a message
  std::optional<double> bytes;         // of a message
  std::optional<std::string> node;     // of a fault
  std::optional<Seconds> duration;     // of a fault; nothing: for good

  static void fields(auto& self, auto& field) {
    field("time_s", self.time);
    field("event", self.event);
    field("purpose", self.purpose);
    field("bytes", self.bytes);
    field("node", self.node);
    field("for_s", self.duration);
  }
};

}  // namespace

void WorldHistory::take(const nlohmann::json& line) {
  const auto read = job::read_json<WorldEvent>(line);
  if (!read.ok() || !std::isfinite(read->time)) return;
  last_ = std::max(last_, read->time);
  if (read->event == "message") {
    const std::string purpose = shortened(read->purpose.value_or(""), kLongestName);
    if (bytes_.size() >= kMostPurposes && !bytes_.contains(purpose)) return;
    bytes_[purpose].add(read->time, read->bytes.value_or(0) / 1e6);
  } else if (style_of(read->event) != nullptr && all_faults_++ < static_cast<std::int64_t>(kMostFaults)) {
    faults_.push_back(
        {shortened(read->node.value_or(""), kLongestName), read->event, read->time, read->duration.value_or(0)});
  }
}

/// A row for each device: when it had which fault.
std::string WorldHistory::fault_picture() const {
  std::vector<std::string> nodes;
  std::string svg;
  const auto across = [&](double time) { return kLabel + time / std::max(last_, 1e-9) * (kWorldWidth - kLabel); };
  for (const Fault& fault : faults_) {
    auto row = std::ranges::find(nodes, fault.node);
    if (row == nodes.end()) {
      if (nodes.size() == kMostWorldRows) continue;
      row = nodes.insert(nodes.end(), fault.node);
    }
    const double top = static_cast<double>(row - nodes.begin()) * kRow;
    const double end = fault.duration > 0 ? std::min(fault.begin + fault.duration, last_) : last_;
    svg += fmt::format(
        R"(<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{}"><title>{} {} after {}{}</title></rect>)",
        style_of(fault.kind)->style, across(fault.begin), top, std::max(2.0, across(end) - across(fault.begin)), kBar,
        escaped(fault.node), fault.kind, format_seconds(fault.begin),
        fault.duration > 0 ? ", for " + format_seconds(fault.duration) : ", for good");
  }
  for (std::size_t i = 0; i < nodes.size(); ++i)
    svg += fmt::format(R"(<text x="{}" y="{:.1f}" text-anchor="end">{}</text>)", kLabel - 8,
                       static_cast<double>(i) * kRow + 11, escaped(shortened(nodes[i], 16)));
  const double bottom = static_cast<double>(nodes.size()) * kRow;
  for (const double at : round_ticks(0, last_, 8))
    if (at <= last_)
      svg +=
          fmt::format(R"(<text x="{:.1f}" y="{}" text-anchor="middle">{:.6g} s</text>)", across(at), bottom + 12, at);
  return fmt::format(R"(<svg viewBox="0 0 {} {}" role="img" aria-label="faults over time">{}</svg>)", kWorldWidth,
                     bottom + 18, svg) +
         "\n";
}

std::string WorldHistory::html() const {
  std::string html;
  if (!faults_.empty()) {
    html += "<h3>Faults</h3>\n<p class=\"legend\">";
    for (const FaultStyle& fault : kFaults) html += fmt::format(R"(<b class="{}">{}</b> )", fault.style, fault.kind);
    html += "</p>\n" + fault_picture();
    const std::int64_t more = all_faults_ - std::ssize(faults_);
    if (more > 0) html += fmt::format("<p>and {} in events.jsonl</p>\n", format_things(more, "more fault"));
  }
  std::vector<Series> series;
  std::string legend;
  for (const auto& [purpose, bytes] : bytes_) {
    const std::string style = fmt::format("n{}", series.size() % 10);
    series.push_back({bytes.per_second(), style, purpose});
    legend += fmt::format(R"(<b class="{}">{}</b> )", style, escaped(purpose));
  }
  if (!series.empty())
    html += "<main>\n" +
            html_section("Messages that arrived, by purpose",
                         "<p class=\"legend\">" + legend + "</p>" + svg_chart("seconds", "MB/s", series)) +
            "</main>\n";
  return html;
}

}  // namespace mangrove::cli
