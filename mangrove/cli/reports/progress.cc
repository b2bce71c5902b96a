#include "mangrove/cli/reports/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "mangrove/base/format.h"
#include "mangrove/cli/reports/event_text.h"
#include "mangrove/cli/reports/terminal.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

constexpr Seconds kRedrawEvery = 0.1;
constexpr Seconds kPlainLineEvery = 5;
constexpr int kPlainColumns = 160;
constexpr int kRowsBelow = 2;  // of the terminal, that stay free

/// 0 where there is none, or where it is no number: JSON has no NaN.
double number(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

std::string render_node(const json& n) {
  std::string line = fmt::format("  {:<12}", n.value("name", "?"));
  if (const std::string state = n.value("state", ""); state != "alive") line += " " + state;
  line += fmt::format("  cpu {:>7}  memory {:>7}", format_percent(number(n, "cpu_percent") / 100, 1),
                      format_bytes(n.value("rss_bytes", Bytes{0})));
  const Bytes sent = n.value("sent_bytes", Bytes{0}), received = n.value("received_bytes", Bytes{0});
  if (sent == 0 && received == 0) return line;
  return line + fmt::format("  sent {:>7}  received {:>7}", format_bytes(sent), format_bytes(received));
}

/// " (exits: 95.20 %, 97.60 %)", of a network with early exits
std::string render_exits(const json& e, const char* key) {
  if (!e.contains(key)) return "";
  std::string text;
  for (const json& accuracy : e[key]) text += (text.empty() ? "" : ", ") + format_percent(accuracy.get<double>());
  return " (exits: " + text + ")";
}

/// epoch 3: loss 0.0912, accuracy 97.21 %; validation: loss 0.0801, accuracy 97.60 % (best so far)
std::string render_epoch(const json& e) {
  if (!e.contains("loss"))
    return fmt::format("epoch {}: {}", e.value("epoch", 0), format_seconds(number(e, "train_seconds")));
  std::string line = fmt::format("epoch {}: loss {:.4f}, accuracy {}", e.value("epoch", 0), number(e, "loss"),
                                 format_percent(number(e, "accuracy")));
  line += render_exits(e, "exit_accuracy");
  if (!e.contains("validation_loss")) return line;
  line += fmt::format("; validation: loss {:.4f}, accuracy {}", number(e, "validation_loss"),
                      format_percent(number(e, "validation_accuracy")));
  line += render_exits(e, "validation_exit_accuracy");
  if (e.value("best_epoch", 0) == e.value("epoch", 0)) return line + " (best so far)";
  return line + fmt::format(" (best: {} after epoch {})", format_percent(number(e, "best_accuracy")),
                            e.value("best_epoch", 0));
}

/// What a line of progress says behind its bar.
struct Part {
  std::string text;
  int importance;
};

std::vector<Part> parts_of(const json& p) {
  std::vector<Part> parts;
  const bool has_one_epoch = p.value("epochs", 0) == 1;
  if (p.contains("epoch") && !has_one_epoch)
    parts.push_back({fmt::format("epoch {}/{}", p.value("epoch", 0), p.value("epochs", 0)), 3});
  if (p.contains("step")) parts.push_back({fmt::format("step {}/{}", p.value("step", 0), p.value("steps", 0)), 1});
  if (p.contains("loss")) parts.push_back({fmt::format("loss {:.4f}", number(p, "loss")), 2});
  if (p.contains("accuracy")) parts.push_back({"accuracy " + format_percent(number(p, "accuracy")), 4});
  if (p.contains("images_per_s")) parts.push_back({format_rate(number(p, "images_per_s")), 5});
  if (const double left = number(p, "eta_s"); left > 0) parts.push_back({format_seconds(left) + " left", 6});
  return parts;
}

}  // namespace

std::string text_bar(double share, int width) {
  const int filled = static_cast<int>(std::clamp(std::isfinite(share) ? share : 0, 0.0, 1.0) * width);
  return "[" + std::string(static_cast<std::size_t>(filled), '#') +
         std::string(static_cast<std::size_t>(width - filled), '.') + "]";
}

std::string progress_line(const json& p, int columns) {
  constexpr int kLongestBar = 24, kMostImportant = 6;
  constexpr std::array kShorterBars = {10, 6};
  const double share = number(p, "done") / std::max(number(p, "total"), 1.0);
  const std::vector<Part> parts = parts_of(p);
  const auto line_with = [&](int bar, int least) {
    std::string line =
        fmt::format("{:<8} {} {:>5}", p.value("phase", "job"), text_bar(share, bar), format_percent(share, 0));
    for (const Part& part : parts)
      if (part.importance >= least) line += "  " + part.text;
    return line;
  };
  std::string line = line_with(kLongestBar, 0);
  for (int least = 0; text_width(line) > columns && least <= kMostImportant; ++least)
    for (const int bar : kShorterBars)
      if (text_width(line) > columns) line = line_with(bar, least);
  return fitted(line, columns);
}

ProgressDisplay::ProgressDisplay(bool enabled) : enabled_(enabled), terminal_(is_terminal(STDERR_FILENO)) {}

void ProgressDisplay::show(const Report& report) {
  if (!enabled_) return;
  const json body = json::parse(report.json, nullptr, /*allow_exceptions=*/false);
  if (!body.is_object()) return;
  const bool is_line = report.kind == "event" || report.kind == "epoch";  // that stays on the screen
  if (is_line) {
    const std::string line = report.kind == "event" ? event_line(body) : render_epoch(body);
    if (line.empty()) return;
    const bool in_colour = report.kind == "event" && is_warning(body) && has_colours(STDERR_FILENO);
    print_line(in_colour ? in_warning_colour(line) : line);
  } else if (report.kind == "progress") {
    const std::string phase = body.value("phase", "job");
    if (phase != phase_ && !phase_.empty()) finish();  // a finished phase stays on the screen
    phase_ = phase;
    progress_ = report.json;
    unseen_ = true;
  } else if (report.kind == "nodes") {
    nodes_.clear();
    for (const json& node : body.value("nodes", json::array())) nodes_.push_back(render_node(node));
    unseen_ = unseen_ || progress_.empty();
  } else {
    return;
  }
  const Seconds pause = terminal_ ? kRedrawEvery : kPlainLineEvery;
  if (is_line || clock_.now() - last_drawn_ >= pause) draw();
}

std::vector<std::string> ProgressDisplay::lines(int columns, int rows) const {
  std::vector<std::string> all = {
      progress_.empty() ? fitted("preparing: nodes load and measure, " + format_seconds(clock_.now() - began_), columns)
                        : progress_line(json::parse(progress_, nullptr, /*allow_exceptions=*/false), columns)};
  const auto room = static_cast<std::size_t>(std::max(rows, 1));
  const std::size_t shown = nodes_.size() <= room ? nodes_.size() : room - 1;
  for (std::size_t i = 0; i < shown; ++i) all.push_back(fitted(nodes_[i], columns));
  if (shown < nodes_.size()) all.push_back(fmt::format("  ... and {} more nodes", nodes_.size() - shown));
  return all;
}

void ProgressDisplay::draw() {
  last_drawn_ = clock_.now();
  if (!terminal_) return print_plain();
  std::string screen = erasure();
  if (!progress_.empty() || !nodes_.empty()) {
    const TerminalSize size = terminal_size(STDERR_FILENO);
    // a line as wide as the terminal makes some of them begin the next row
    for (const std::string& line : lines(size.columns - 1, size.rows - kRowsBelow)) {
      drawn_.push_back(text_width(line));
      screen += line + "\n";
    }
  }
  std::fputs(screen.c_str(), stderr);
}

void ProgressDisplay::print_plain() {
  if (!unseen_) return;
  unseen_ = false;
  for (const std::string& line : lines(kPlainColumns, static_cast<int>(nodes_.size())))
    std::fprintf(stderr, "%s\n", line.c_str());
}

void ProgressDisplay::print_line(const std::string& line) {
  std::fputs((erasure() + line + "\n").c_str(), stderr);
}

std::string ProgressDisplay::erasure() {
  if (drawn_.empty()) return "";
  // where the window has become narrower, terminals have broken our lines
  const int columns = std::max(1, terminal_size(STDERR_FILENO).columns);
  int rows = 0;
  for (const int width : drawn_) rows += std::max(1, (width + columns - 1) / columns);
  drawn_.clear();
  return fmt::format("\x1b[{}A\r\x1b[J", rows);  // up to the first of them, then erase to the end of the screen
}

void ProgressDisplay::finish() {
  if (!enabled_) return;
  if (!progress_.empty())
    draw();
  else
    std::fputs(erasure().c_str(), stderr);
  drawn_.clear();
  progress_.clear();
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
