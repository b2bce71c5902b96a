#include "mangrove/cli/reports/top_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "mangrove/base/units.h"
#include "mangrove/cli/reports/progress.h"
#include "mangrove/cli/reports/straggler.h"

namespace mangrove::cli {
namespace {

using cluster::NodeStatus;
using nlohmann::json;
using Emphasis = FrameLine::Emphasis;

constexpr int kTextWidth = 96;  // of a node's line without bars
constexpr int kWidestBar = 20;
constexpr std::size_t kShortestList = 3;  // of nodes, however low the window is

/// Seconds a step, over the last few; 0: no step yet.
cluster::StepSeconds recent_step(const NodeStatus& node) {
  cluster::StepSeconds mean;
  const auto& recent = node.use().steps().recent();
  const auto count = static_cast<double>(recent.size());
  for (const cluster::StepSeconds& step : recent) {
    mean.set_load(mean.load() + step.load() / count);
    mean.set_compute(mean.compute() + step.compute() / count);
    mean.set_encode(mean.encode() + step.encode() / count);
    mean.set_wire(mean.wire() + step.wire() / count);
    mean.set_wait(mean.wait() + step.wait() / count);
  }
  return mean;
}

Seconds load_and_compute(const NodeStatus& node) {
  const cluster::StepSeconds step = recent_step(node);
  return step.load() + step.compute();
}

std::optional<std::size_t> straggler_of(const cluster::ListNodesResponse& status) {
  std::vector<Seconds> compute;
  for (const NodeStatus& node : status.nodes()) compute.push_back(node.state() == "alive" ? load_and_compute(node) : 0);
  return straggler(compute);
}

/// "worker 2": what the node is in the job, and its rank.
std::string role_of(const NodeStatus& node, const cluster::CurrentJob& job) {
  if (node.rank() == 0) return "-";
  return fmt::format("{} {}", job.kind() == "train" ? "worker" : "stages", node.rank());
}

std::string bar(double share, int width) {
  return width < 4 ? "" : " " + text_bar(share, width);
}

std::string rate(double bytes_per_s) {
  return format_bytes(static_cast<Bytes>(bytes_per_s)) + "/s";
}

double traffic(const NodeStatus& node) {
  return node.sent_per_s() + node.received_per_s();
}

std::string node_line(const NodeStatus& node, const cluster::CurrentJob& job, double most_traffic, int bar_width) {
  const auto& description = node.description();
  const auto& use = node.use();
  const double cores = std::max(description.cores(), 1);
  const double memory = std::max(static_cast<double>(description.memory_bytes()), 1.0);
  const cluster::StepSeconds step = recent_step(node);
  const Seconds whole = step.load() + step.compute() + step.encode() + step.wire() + step.wait();
  const std::string steps = whole > 0 ? fmt::format("{} ({:.0f} % load, {:.0f} % compute)", format_seconds(whole),
                                                    100 * step.load() / whole, 100 * step.compute() / whole)
                                      : "";
  return fmt::format("{:<16.16} {:<6} {:<9} {:>9}{} {:>6.1f} %{} {:>8}{} {:>10} {:>10}  {}", description.name(),
                     node.state(), role_of(node, job), format_seconds(node.heartbeat_age()),
                     bar(use.cpu_percent() / 100 / cores, bar_width), use.cpu_percent(),
                     bar(static_cast<double>(use.rss_bytes()) / memory, bar_width), format_bytes(use.rss_bytes()),
                     bar(traffic(node) / std::max(most_traffic, 1.0), bar_width), rate(node.sent_per_s()),
                     rate(node.received_per_s()), steps);
}

std::string heading(int bar_width) {
  const std::string space(bar_width < 4 ? 0 : static_cast<std::size_t>(bar_width) + 3, ' ');
  return fmt::format("{:<16} {:<6} {:<9} {:>9}{} {:>8}{} {:>8}{} {:>10} {:>10}  {}", "node", "state", "role",
                     "heartbeat", space, "cpu", space, "memory", space, "sent", "received", "step");
}

json parsed(const std::string& text) {
  json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  return object.is_object() ? object : json();
}

std::string job_line(const cluster::ListNodesResponse& status) {
  if (!status.has_job()) return "no job runs";
  const cluster::CurrentJob& job = status.job();
  const json progress = parsed(job.progress());
  return fmt::format("{}: {}, {}{}", job.id(), job.kind(), job.strategy(),
                     progress.is_object() ? ": " + progress_line(progress) : "");
}

std::string straggler_line(const NodeStatus& node) {
  return fmt::format("straggler: {} loads and computes {} a step, well above the others", node.description().name(),
                     format_seconds(load_and_compute(node)));
}

json steps_json(const NodeStatus& node) {
  const cluster::StepSeconds step = recent_step(node);
  return {{"count", node.use().steps().count()}, {"load_s", step.load()}, {"compute_s", step.compute()},
          {"encode_s", step.encode()},           {"wire_s", step.wire()}, {"wait_s", step.wait()}};
}

json node_json(const NodeStatus& node, const cluster::CurrentJob& job) {
  const auto& use = node.use();
  json object = {{"name", node.description().name()},
                 {"state", node.state()},
                 {"role", role_of(node, job)},
                 {"heartbeat_age_s", node.heartbeat_age()},
                 {"cores", node.description().cores()},
                 {"cpu_percent", use.cpu_percent()},
                 {"core_percent", std::vector<float>(use.core_percent().begin(), use.core_percent().end())},
                 {"memory_bytes", node.description().memory_bytes()},
                 {"rss_bytes", use.rss_bytes()},
                 {"minor_faults", use.minor_faults()},
                 {"major_faults", use.major_faults()},
                 {"sent_per_s", node.sent_per_s()},
                 {"received_per_s", node.received_per_s()},
                 {"steps", steps_json(node)}};
  if (use.has_temperature_c()) object["temperature_c"] = use.temperature_c();
  return object;
}

}  // namespace

std::vector<FrameLine> top_frame(const std::string& coordinator, const cluster::ListNodesResponse& status,
                                 TerminalSize size) {
  const auto alive = std::count_if(status.nodes().begin(), status.nodes().end(),
                                   [](const NodeStatus& node) { return node.state() == "alive"; });
  std::vector<FrameLine> frame = {
      {fmt::format("cluster {}: {} nodes, {} alive", coordinator, status.nodes_size(), alive), Emphasis::heading},
      {job_line(status)}};
  const std::optional<std::size_t> slowest = straggler_of(status);
  if (slowest) frame.push_back({straggler_line(status.nodes(static_cast<int>(*slowest))), Emphasis::warning});
  const int bar_width = std::min(kWidestBar, (size.columns - kTextWidth) / 3 - 3);
  frame.push_back({});
  frame.push_back({heading(bar_width), Emphasis::heading});

  double most_traffic = 0;
  for (const NodeStatus& node : status.nodes()) most_traffic = std::max(most_traffic, traffic(node));
  const auto all = static_cast<std::size_t>(status.nodes_size());
  const std::size_t rows = static_cast<std::size_t>(std::max(size.rows, 0));
  const std::size_t room = std::max(kShortestList, rows - std::min(rows, frame.size()));
  const std::size_t shown = all <= room ? all : room - 1;
  for (std::size_t i = 0; i < shown; ++i) {
    const NodeStatus& node = status.nodes(static_cast<int>(i));
    const bool odd = node.state() != "alive" || slowest == i;
    frame.push_back({node_line(node, status.job(), most_traffic, bar_width), odd ? Emphasis::warning : Emphasis::none});
  }
  if (shown < all) frame.push_back({fmt::format("... and {} more", all - shown)});
  return frame;
}

json top_json(const std::string& coordinator, const cluster::ListNodesResponse& status) {
  json object = {{"coordinator", coordinator}, {"job", json()}, {"straggler", json()}, {"nodes", json::array()}};
  if (status.has_job()) {
    object["job"] = {{"id", status.job().id()},
                     {"kind", status.job().kind()},
                     {"strategy", status.job().strategy()},
                     {"progress", parsed(status.job().progress())}};
  }
  if (const auto slowest = straggler_of(status))
    object["straggler"] = status.nodes(static_cast<int>(*slowest)).description().name();
  for (const NodeStatus& node : status.nodes()) object["nodes"].push_back(node_json(node, status.job()));
  return object;
}

}  // namespace mangrove::cli
