#include "mangrove/cli/reports/top_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "mangrove/base/format.h"
#include "mangrove/cli/reports/progress.h"
#include "mangrove/cli/reports/terminal.h"
#include "mangrove/cluster/cluster_status.h"
#include "mangrove/job/json_fields.h"

namespace mangrove::cli {
namespace {

using cluster::load_and_compute;
using cluster::NodeStatus;
using cluster::recent_step;
using cluster::role_text;
using cluster::straggler_of;
using Emphasis = FrameLine::Emphasis;

constexpr int kWidestBar = 20, kNarrowestBar = 4;
constexpr int kBarFrame = 3;  // its brackets and the space before it
constexpr int kMostJobLines = 5;
constexpr std::size_t kShortestList = 3;  // of nodes, however low the window is

/// "-": it has none; "3 roles".
std::string role_of(const NodeStatus& node, const cluster::ListNodesResponse& status) {
  if (node.roles_size() == 0) return "-";
  if (node.roles_size() > 1) return format_things(node.roles_size(), "role");
  return role_text(node.roles(0), status);
}

std::string rate(double bytes_per_s) {
  const bool is_rate = bytes_per_s >= 0 && bytes_per_s < 1e18;
  return is_rate ? format_bytes(static_cast<Bytes>(bytes_per_s)) + "/s" : "?";
}

double traffic(const NodeStatus& node) {
  return node.sent_per_s() + node.received_per_s();
}

/// What a line of a node is made from.
struct Row {
  const NodeStatus& node;
  const cluster::ListNodesResponse& status;
  cluster::StepSeconds step;
  double most_traffic;  // of all nodes

  Seconds whole_step() const { return step.load() + step.compute() + step.encode() + step.wire() + step.wait(); }
  std::string step_share(Seconds part) const { return whole_step() > 0 ? format_percent(part / whole_step(), 0) : "-"; }
};

struct Column {
  const char* heading;
  int width;
  bool is_left;
  int importance;  // where the window is narrow, the least goes first
  std::string (*text)(const Row& row);
  double (*share)(const Row& row) = nullptr;  // drawn as a bar where there is room
};

double cpu_share(const Row& row) {
  return row.node.use().cpu_percent() / 100 / std::max(row.node.description().cores(), 1);
}

double memory_share(const Row& row) {
  return static_cast<double>(row.node.use().rss_bytes()) /
         std::max(static_cast<double>(row.node.description().memory_bytes()), 1.0);
}

double traffic_share(const Row& row) {
  return traffic(row.node) / std::max(row.most_traffic, 1.0);
}

// `mangrove nodes` has the same names for the same things.
constexpr Column kColumns[] = {
    {"node", 16, true, 9, [](const Row& r) { return r.node.description().name(); }},
    {"state", 6, true, 8, [](const Row& r) { return r.node.state(); }},
    {"role", 9, true, 4, [](const Row& r) { return role_of(r.node, r.status); }},
    {"heartbeat", 9, false, 2, [](const Row& r) { return format_seconds(r.node.heartbeat_age()); }},
    {"cpu", 8, false, 8, [](const Row& r) { return format_percent(r.node.use().cpu_percent() / 100, 1); }, &cpu_share},
    {"memory", 8, false, 7, [](const Row& r) { return format_bytes(r.node.use().rss_bytes()); }, &memory_share},
    {"sent", 10, false, 6, [](const Row& r) { return rate(r.node.sent_per_s()); }, &traffic_share},
    {"received", 10, false, 6, [](const Row& r) { return rate(r.node.received_per_s()); }},
    {"step", 8, false, 5, [](const Row& r) { return r.whole_step() > 0 ? format_seconds(r.whole_step()) : "-"; }},
    {"load", 5, false, 1, [](const Row& r) { return r.step_share(r.step.load()); }},
    {"compute", 7, false, 3, [](const Row& r) { return r.step_share(r.step.compute()); }},
};

/// The columns that a window has room for, and how wide their bars are (0: there are none).
struct Layout {
  int least = 0;  // importance of a column that is shown
  int bar = 0;

  explicit Layout(int columns) {
    while (width() > columns && least < 9) ++least;
    int bars = 0;
    for (const Column& column : kColumns) bars += shows(column) && column.share != nullptr;
    if (bars == 0) return;
    const int room = std::min(kWidestBar, (columns - width()) / bars - kBarFrame);
    bar = room < kNarrowestBar ? 0 : room;
  }
  bool shows(const Column& column) const { return column.importance >= least; }
  int width() const {
    int sum = -1;  // a space before each column but the first
    for (const Column& column : kColumns)
      if (shows(column)) sum += 1 + column.width;
    return sum;
  }
};

std::string cell(const Column& column, const std::string& text) {
  const std::string cut = fitted(text, column.width);
  const std::string space(static_cast<std::size_t>(column.width - text_width(cut)), ' ');
  return column.is_left ? cut + space : space + cut;
}

std::string node_line(const Row& row, const Layout& layout) {
  std::string line;
  for (const Column& column : kColumns) {
    if (!layout.shows(column)) continue;
    if (!line.empty()) line += " ";
    if (column.share != nullptr && layout.bar > 0) line += text_bar(column.share(row), layout.bar) + " ";
    line += cell(column, column.text(row));
  }
  return line;
}

std::string heading(const Layout& layout) {
  std::string line;
  for (const Column& column : kColumns) {
    if (!layout.shows(column)) continue;
    if (!line.empty()) line += " ";
    if (column.share != nullptr && layout.bar > 0) line += std::string(static_cast<std::size_t>(layout.bar) + 3, ' ');
    line += cell(column, column.heading);
  }
  return line;
}

std::string job_line(const cluster::CurrentJob& job, int columns) {
  if (job.state() == "waiting") return fmt::format("{}: {}, {}: waits for nodes", job.id(), job.kind(), job.strategy());
  const auto progress = job::parse_json<job::Progress>(job.progress());
  std::string line = fmt::format("{}: {}, {}", job.id(), job.kind(), job.strategy());
  if (!progress.ok()) return line;
  return line + ": " + progress_line(*progress, columns - text_width(line) - 2);
}

std::string straggler_line(const NodeStatus& node) {
  return fmt::format("straggler: {} loads and computes {} a step, well above the others", node.description().name(),
                     format_seconds(load_and_compute(node)));
}

/// "refused: 3 not allowed, 12 too many joins"
std::string refused_line(const cluster::ListNodesResponse& status) {
  const std::map<std::string, std::int64_t> counts(status.refused().begin(), status.refused().end());
  std::string line;
  for (const auto& [name, count] : counts) {
    std::string words = name;
    std::replace(words.begin(), words.end(), '_', ' ');
    line += fmt::format("{}{} {}", line.empty() ? "refused: " : ", ", format_count(count), words);
  }
  return line;
}

}  // namespace

std::vector<FrameLine> top_frame(const std::string& coordinator, const cluster::ListNodesResponse& status,
                                 TerminalSize size) {
  const auto alive = std::count_if(status.nodes().begin(), status.nodes().end(),
                                   [](const NodeStatus& node) { return node.state() == "alive"; });
  std::vector<FrameLine> frame = {
      {fmt::format("cluster {}: {}, {} alive", coordinator, format_things(status.nodes_size(), "node"), alive),
       Emphasis::heading}};
  const int jobs = std::min(status.jobs_size(), kMostJobLines);
  for (int i = 0; i < jobs; ++i) frame.push_back({job_line(status.jobs(i), size.columns)});
  if (jobs < status.jobs_size()) frame.push_back({fmt::format("... and {} more jobs", status.jobs_size() - jobs)});
  if (jobs == 0) frame.push_back({"no job runs"});
  const std::optional<std::size_t> slowest = straggler_of(status);
  if (slowest) frame.push_back({straggler_line(status.nodes(static_cast<int>(*slowest))), Emphasis::warning});
  if (status.refused_size() > 0) frame.push_back({refused_line(status), Emphasis::warning});
  const Layout layout(size.columns);
  frame.push_back({});
  frame.push_back({heading(layout), Emphasis::heading});

  double most_traffic = 0;
  for (const NodeStatus& node : status.nodes()) most_traffic = std::max(most_traffic, traffic(node));
  const auto all = static_cast<std::size_t>(status.nodes_size());
  const std::size_t rows = static_cast<std::size_t>(std::max(size.rows, 0));
  const std::size_t room = std::max(kShortestList, rows - std::min(rows, frame.size()));
  const std::size_t shown = all <= room ? all : room - 1;
  for (std::size_t i = 0; i < shown; ++i) {
    const NodeStatus& node = status.nodes(static_cast<int>(i));
    const bool odd = node.state() != "alive" || slowest == i;
    const Row row{node, status, recent_step(node), most_traffic};
    frame.push_back({node_line(row, layout), odd ? Emphasis::warning : Emphasis::none});
  }
  if (shown < all) frame.push_back({fmt::format("... and {} more", all - shown)});
  for (FrameLine& line : frame) line.text = fitted(line.text, size.columns);
  return frame;
}

}  // namespace mangrove::cli
