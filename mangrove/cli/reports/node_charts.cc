#include "mangrove/cli/reports/node_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "mangrove/base/units.h"
#include "mangrove/cli/reports/html.h"
#include "mangrove/cli/reports/svg_chart.h"
#include "mangrove/cluster/straggler.h"

namespace mangrove::cli {
namespace {

constexpr double kRowsWidth = 980, kRowLabel = 110, kRowHeight = 22,
                 kBarHeight = 16;      // of charts with a row for each node
constexpr std::size_t kColumns = 120;  // of the timeline

struct Part {
  const char* name;
  Seconds PhaseSeconds::*seconds;
};
/// In the order in which they are drawn.
constexpr std::array<Part, 5> kParts = {{{"wait", &PhaseSeconds::wait},
                                         {"wire", &PhaseSeconds::wire},
                                         {"load", &PhaseSeconds::load},
                                         {"compute", &PhaseSeconds::compute},
                                         {"encode", &PhaseSeconds::encode}}};

std::string chart(const char* title, const char* unit, const std::vector<NodeHistory>& nodes,
                  Curve NodeHistory::*curve) {
  std::vector<Series> series;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (!(nodes[i].*curve).empty()) series.push_back({nodes[i].*curve, series_style(i), nodes[i].name});
  if (series.empty()) return {};
  return fmt::format("<section><h3>{}</h3>{}</section>\n", title, svg_chart("seconds", unit, series));
}

std::string node_legend(const std::vector<NodeHistory>& nodes) {
  std::string html = "<p class=\"legend\">";
  for (std::size_t i = 0; i < nodes.size(); ++i)
    html += fmt::format(R"(<b class="{}">{}</b> )", series_style(i), escaped(nodes[i].name));
  return html + "</p>\n";
}

double mean(const Curve& curve) {
  double sum = 0;
  for (const auto& [x, y] : curve) sum += y;
  return curve.empty() ? 0 : sum / static_cast<double>(curve.size());
}

/// CPU, memory, and bytes sent and received by purpose.
std::string use_table(const std::vector<NodeHistory>& nodes) {
  std::set<std::string> purposes;
  for (const NodeHistory& node : nodes)
    for (const auto& [purpose, flow] : node.by_purpose) purposes.insert(purpose);
  std::string html = "<table><tr><th>node</th><th>CPU, mean</th><th>memory, peak</th>";
  for (const std::string& purpose : purposes) html += fmt::format("<th>{} sent / received</th>", escaped(purpose));
  html += "</tr>\n";
  for (const NodeHistory& node : nodes) {
    html += fmt::format("<tr><td>{}</td><td>{:.0f} %</td><td>{:.0f} MB</td>", escaped(node.name), mean(node.cpu),
                        node.peak_memory);
    for (const std::string& purpose : purposes) {
      const auto found = node.by_purpose.find(purpose);
      const net::Flow flow = found == node.by_purpose.end() ? net::Flow() : found->second;
      html += fmt::format("<td>{} / {}</td>", format_bytes(flow.sent_bytes), format_bytes(flow.received_bytes));
    }
    html += "</tr>\n";
  }
  return html + "</table>\n";
}

std::string phase_legend() {
  std::string html = "<p class=\"legend\">";
  for (const Part& part : kParts) html += fmt::format(R"(<b class="{0}">{0}</b> )", part.name);
  return html + "</p>\n";
}

std::string row_label(const std::string& name, double top) {
  return fmt::format(R"(<text x="{}" y="{:.1f}" text-anchor="end">{}</text>)", kRowLabel - 8, top + kBarHeight - 4,
                     escaped(name));
}

std::string svg_rows(std::size_t rows, const std::string& content) {
  return fmt::format(R"(<svg viewBox="0 0 {} {}" role="img">{}</svg>)", kRowsWidth,
                     static_cast<double>(rows) * kRowHeight + 20, content) +
         "\n";
}

std::string time_axis(double begin, double end, std::size_t rows) {
  std::string svg;
  for (const double at : round_ticks(begin, end, 8)) {
    if (at < begin || at > end) continue;
    const double x = kRowLabel + (at - begin) / std::max(end - begin, 1e-9) * (kRowsWidth - kRowLabel);
    svg += fmt::format(R"(<text x="{:.1f}" y="{}" text-anchor="middle">{:.6g} s</text>)", x,
                       static_cast<double>(rows) * kRowHeight + 14, at);
  }
  return svg;
}

/// One bar a node: the mean step.
std::string mean_steps(const std::vector<NodeHistory>& nodes) {
  Seconds longest = 0;
  for (const NodeHistory& node : nodes) longest = std::max(longest, node.total.sum() / static_cast<double>(node.steps));
  std::string svg;
  double top = 0;
  for (const NodeHistory& node : nodes) {
    svg += row_label(node.name, top);
    double x = kRowLabel;
    for (const Part& part : kParts) {
      const Seconds seconds = node.total.*part.seconds / static_cast<double>(node.steps);
      const double width = std::max(0.0, seconds / std::max(longest, 1e-9) * (kRowsWidth - kRowLabel));
      svg += fmt::format(
          R"(<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{}"><title>{} {}</title></rect>)", part.name,
          x, top, width, kBarHeight, part.name, format_seconds(seconds));
      x += width;
    }
    top += kRowHeight;
  }
  return svg_rows(nodes.size(), svg);
}

/// The shares of a node's time as columns over time, each the mean of some intervals.
std::string timeline_row(const NodeHistory& node, double end, double top) {
  std::array<PhaseSeconds, kColumns> columns{};
  const double width = std::max(end, 1e-9) / kColumns;
  for (const NodeHistory::Interval& interval : node.intervals) {
    const auto column_of = [&](double at) {
      return static_cast<std::size_t>(std::clamp(at / width, 0.0, kColumns - 1.0));
    };
    for (std::size_t c = column_of(interval.begin); c <= column_of(interval.end); ++c) {
      for (const Part& part : kParts) columns[c].*part.seconds += interval.phases.*part.seconds;
    }
  }
  std::string svg;
  const double across = (kRowsWidth - kRowLabel) / kColumns;
  for (std::size_t c = 0; c < kColumns; ++c) {
    double y = top;
    for (const Part& part : kParts) {
      const double height =
          columns[c].sum() > 0 ? kBarHeight * std::max(0.0, columns[c].*part.seconds) / columns[c].sum() : 0;
      if (height > 0.05)
        svg += fmt::format(R"(<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.2f}" height="{:.1f}"/>)", part.name,
                           kRowLabel + static_cast<double>(c) * across, y, across + 0.2, height);
      y += height;
    }
  }
  return svg;
}

std::string timeline(const std::vector<NodeHistory>& nodes) {
  double end = 0;
  for (const NodeHistory& node : nodes)
    for (const NodeHistory::Interval& interval : node.intervals) end = std::max(end, interval.end);
  std::string svg;
  double top = 0;
  for (const NodeHistory& node : nodes) {
    svg += row_label(node.name, top) + timeline_row(node, end, top);
    top += kRowHeight;
  }
  return svg_rows(nodes.size(), svg + time_axis(0, end, nodes.size()));
}

/// The last few steps of every node in full.
std::string last_steps(const std::vector<NodeHistory>& nodes) {
  double begin = std::numeric_limits<double>::infinity(), end = 0;
  for (const NodeHistory& node : nodes) {
    for (const NodeHistory::Step& step : node.last_steps) {
      begin = std::min(begin, step.end - step.phases.sum());
      end = std::max(end, step.end);
    }
  }
  if (end <= begin) return {};
  std::string svg;
  double top = 0;
  for (const NodeHistory& node : nodes) {
    svg += row_label(node.name, top);
    for (const NodeHistory::Step& step : node.last_steps) {
      double at = step.end - step.phases.sum();
      for (const Part& part : kParts) {
        const Seconds seconds = step.phases.*part.seconds;
        svg += fmt::format(R"(<rect class="{}" x="{:.2f}" y="{:.1f}" width="{:.2f}" height="{}"/>)", part.name,
                           kRowLabel + (at - begin) / (end - begin) * (kRowsWidth - kRowLabel), top,
                           std::max(0.0, seconds) / (end - begin) * (kRowsWidth - kRowLabel), kBarHeight);
        at += seconds;
      }
    }
    top += kRowHeight;
  }
  return "<h3>The last steps</h3>\n" + svg_rows(nodes.size(), svg + time_axis(begin, end, nodes.size()));
}

std::string step_table(const std::vector<NodeHistory>& nodes) {
  std::vector<Seconds> compute;
  compute.reserve(nodes.size());
  for (const NodeHistory& node : nodes)
    compute.push_back((node.total.load + node.total.compute) / static_cast<double>(node.steps));
  const auto slowest = cluster::straggler(compute);
  std::string html =
      "<table><tr><th>node</th><th>steps</th><th>load</th><th>compute</th><th>encode</th><th>wire</th><th>wait</th>"
      "<th></th></tr>\n";
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const NodeHistory& node = nodes[i];
    html += fmt::format("<tr><td>{}</td><td>{}</td>", escaped(node.name), node.steps);
    for (const Seconds sum : {node.total.load, node.total.compute, node.total.encode, node.total.wire, node.total.wait})
      html += fmt::format("<td>{}</td>", format_seconds(sum / static_cast<double>(node.steps)));
    html += fmt::format("<td>{}</td></tr>\n", slowest == i ? "straggler" : "");
  }
  return html + "</table>\n";
}

std::string step_sections(const std::vector<NodeHistory>& all) {
  std::vector<NodeHistory> nodes;
  for (const NodeHistory& node : all)
    if (node.steps > 0) nodes.push_back(node);
  if (nodes.empty()) return {};
  return "<h2>Training steps</h2>\n" + phase_legend() + "<h3>The mean step</h3>\n" + mean_steps(nodes) +
         step_table(nodes) + "<h3>Shares of the time</h3>\n" + timeline(nodes) + last_steps(nodes);
}

}  // namespace

std::string node_sections(const std::vector<NodeHistory>& nodes) {
  if (nodes.empty()) return {};
  return "<h2>Nodes</h2>\n" + node_legend(nodes) + "<main>\n" + chart("CPU", "% of a core", nodes, &NodeHistory::cpu) +
         chart("Memory", "MB", nodes, &NodeHistory::memory) + chart("Sent", "MB/s", nodes, &NodeHistory::sent) +
         chart("Received", "MB/s", nodes, &NodeHistory::received) +
         chart("Cores of its machine", "% busy", nodes, &NodeHistory::cores) +
         chart("Temperature", "°C", nodes, &NodeHistory::temperature) + "</main>\n" + use_table(nodes) +
         step_sections(nodes);
}

}  // namespace mangrove::cli
