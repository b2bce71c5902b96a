#include "mangrove/cli/reports/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace mangrove::cli {
namespace {

using nlohmann::json;

constexpr Seconds kRedrawEvery = 0.1;
constexpr Seconds kPlainLineEvery = 5;

/// 0 where there is none, or where it is no number: JSON has no NaN.
double number(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

std::string render_node(const json& n) {
  return fmt::format("  {:<12} {:<6} cpu {:5.1f} %  memory {:>8}  sent {:>8}  received {:>8}", n.value("name", "?"),
                     n.value("state", ""), number(n, "cpu_percent"), format_bytes(n.value("rss_bytes", Bytes{0})),
                     format_bytes(n.value("sent_bytes", Bytes{0})), format_bytes(n.value("received_bytes", Bytes{0})));
}

/// " (exits: 95.20 %, 97.60 %)", of a network with early exits
std::string render_exits(const json& e, const char* key) {
  if (!e.contains(key)) return "";
  std::string text;
  for (const json& accuracy : e[key])
    text += fmt::format("{}{:.2f} %", text.empty() ? "" : ", ", 100 * accuracy.get<double>());
  return " (exits: " + text + ")";
}

/// epoch 3: loss 0.0912, accuracy 97.21 %; validation: loss 0.0801, accuracy 97.60 % (best so far)
std::string render_epoch(const json& e) {
  if (!e.contains("loss"))
    return fmt::format("epoch {}: {}", e.value("epoch", 0), format_seconds(number(e, "train_seconds")));
  std::string line = fmt::format("epoch {}: loss {:.4f}, accuracy {:.2f} %", e.value("epoch", 0), number(e, "loss"),
                                 100 * number(e, "accuracy"));
  line += render_exits(e, "exit_accuracy");
  if (!e.contains("validation_loss")) return line;
  line += fmt::format("; validation: loss {:.4f}, accuracy {:.2f} %", number(e, "validation_loss"),
                      100 * number(e, "validation_accuracy"));
  line += render_exits(e, "validation_exit_accuracy");
  if (e.value("best_epoch", 0) == e.value("epoch", 0)) return line + " (best so far)";
  return line +
         fmt::format(" (best: {:.2f} % after epoch {})", 100 * number(e, "best_accuracy"), e.value("best_epoch", 0));
}

/// event node_lost: node=node-2 time_s=3.1
std::string render_event(const json& e) {
  if (e.value("event", "") == "advice") return "advice: " + advice_line(e);
  if (e.value("event", "") == "not_written")
    return "warning: " + e.value("message", "") + "; the run goes on, and tries to write again";
  std::string line = "event " + e.value("event", "?") + ":";
  for (const auto& [key, value] : e.items())
    if (key != "event") line += " " + key + "=" + (value.is_string() ? value.get<std::string>() : value.dump());
  return line;
}

}  // namespace

std::string text_bar(double share, int width) {
  const int filled = static_cast<int>(std::clamp(share, 0.0, 1.0) * width);
  return "[" + std::string(static_cast<std::size_t>(filled), '#') +
         std::string(static_cast<std::size_t>(width - filled), '.') + "]";
}

std::string progress_line(const json& p) {
  const double done = number(p, "done"), total = std::max(number(p, "total"), 1.0);
  std::string line =
      fmt::format("{:<8} {} {:3.0f} %", p.value("phase", "job"), text_bar(done / total, 24), 100 * done / total);
  if (p.contains("epoch")) line += fmt::format("  epoch {}/{}", p.value("epoch", 0), p.value("epochs", 0));
  if (p.contains("step")) line += fmt::format("  step {}/{}", p.value("step", 0), p.value("steps", 0));
  if (p.contains("loss")) line += fmt::format("  loss {:.4f}", number(p, "loss"));
  if (p.contains("accuracy")) line += fmt::format("  accuracy {:.2f} %", 100 * number(p, "accuracy"));
  if (p.contains("images_per_s")) line += fmt::format("  {:.0f} images/s", number(p, "images_per_s"));
  if (p.contains("eta_s")) line += fmt::format("  {} left", format_seconds(number(p, "eta_s")));
  return line;
}

std::string advice_line(const json& a) {
  const std::int64_t boards = a.value("boards", 0);
  return fmt::format("use {} board{}: {}", boards, boards == 1 ? "" : "s", a.value("why", ""));
}

ProgressDisplay::ProgressDisplay(bool enabled) : enabled_(enabled), terminal_(::isatty(STDERR_FILENO) == 1) {}

void ProgressDisplay::show(const Report& report) {
  if (!enabled_) return;
  const json body = json::parse(report.json, nullptr, /*allow_exceptions=*/false);
  if (!body.is_object()) return;
  const bool is_line = report.kind == "event" || report.kind == "epoch";  // that stays on the screen
  if (is_line) {
    clear();
    std::fprintf(stderr, "%s\n", (report.kind == "event" ? render_event(body) : render_epoch(body)).c_str());
  } else if (report.kind == "progress") {
    const std::string phase = body.value("phase", "job");
    if (phase != phase_ && !phase_.empty()) finish();  // a finished phase stays on the screen
    phase_ = phase;
    bar_ = progress_line(body);
    unseen_ = true;
  } else if (report.kind == "nodes") {
    nodes_.clear();
    for (const json& node : body.value("nodes", json::array())) nodes_.push_back(render_node(node));
  } else {
    return;
  }
  const Seconds pause = terminal_ ? kRedrawEvery : kPlainLineEvery;
  if (is_line || clock_.now() - last_drawn_ >= pause) draw();
}

void ProgressDisplay::draw() {
  last_drawn_ = clock_.now();
  if (!terminal_) return print_plain();
  clear();
  if (bar_.empty()) return;
  std::string screen = bar_ + "\n";
  for (const std::string& node : nodes_) screen += node + "\n";
  std::fputs(screen.c_str(), stderr);
  lines_on_screen_ = 1 + static_cast<int>(nodes_.size());
}

void ProgressDisplay::print_plain() {
  if (!unseen_) return;
  unseen_ = false;
  std::fprintf(stderr, "%s\n", bar_.c_str());
  for (const std::string& node : nodes_) std::fprintf(stderr, "%s\n", node.c_str());
}

void ProgressDisplay::clear() {
  // up to the first of our lines, then erase to the end of the screen
  if (lines_on_screen_ > 0) std::fprintf(stderr, "\x1b[%dA\x1b[J", lines_on_screen_);
  lines_on_screen_ = 0;
}

void ProgressDisplay::finish() {
  if (!enabled_ || bar_.empty()) return;
  draw();
  lines_on_screen_ = 0;
  bar_.clear();
}

SampleProgress::SampleProgress(ProgressDisplay& display, std::string phase, std::int64_t total)
    : display_(display), phase_(std::move(phase)), total_(total), start_(clock_.now()) {}

void SampleProgress::operator()(std::int64_t done) const {
  const double rate = static_cast<double>(done) / std::max(clock_.now() - start_, 1e-9);
  const json body = {{"phase", phase_},
                     {"done", done},
                     {"total", total_},
                     {"images_per_s", rate},
                     {"eta_s", static_cast<double>(total_ - done) / rate}};
  display_.show({.kind = "progress", .json = body.dump(), .attachment = {}});
}

}  // namespace mangrove::cli
