#include "mangrove/cli/reports/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "mangrove/base/format.h"
#include "mangrove/base/printable.h"
#include "mangrove/base/stop.h"
#include "mangrove/cli/reports/event_text.h"
#include "mangrove/cli/reports/terminal.h"
#include "mangrove/cluster/job_report.h"
#include "mangrove/job/json_fields.h"
#include "mangrove/train/result.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

constexpr Seconds kRedrawEvery = 0.1;
constexpr Seconds kPlainLineEvery = 5;
constexpr int kPlainColumns = 160;
constexpr int kRowsBelow = 2;  // of the terminal, that stay free

std::string render_node(const cluster::NodeUsage& n) {
  std::string line = fmt::format("  {:<12}", n.name);
  if (n.state != "alive") line += " " + n.state;
  line += fmt::format("  cpu {:>7}  memory {:>7}", format_percent(n.cpu_percent / 100, 1), format_bytes(n.rss_bytes));
  if (n.sent_bytes == 0 && n.received_bytes == 0) return line;
  return line + fmt::format("  sent {:>7}  received {:>7}", format_bytes(n.sent_bytes), format_bytes(n.received_bytes));
}

/// " (exits: 95.20 %, 97.60 %)", of a network with early exits
std::string render_exits(const std::optional<std::vector<double>>& accuracies) {
  if (!accuracies) return "";
  std::string text;
  for (const double accuracy : *accuracies) text += (text.empty() ? "" : ", ") + format_percent(accuracy);
  return " (exits: " + text + ")";
}

/// epoch 3: loss 0.0912, accuracy 97.21 %; validation: loss 0.0801, accuracy 97.60 % (best so far)
std::string render_epoch(const train::EpochReport& e) {
  if (!e.loss) return fmt::format("epoch {}: {}", e.epoch, format_seconds(e.train_seconds));
  std::string line =
      fmt::format("epoch {}: loss {:.4f}, accuracy {}", e.epoch, *e.loss, format_percent(e.accuracy.value_or(0)));
  line += render_exits(e.exit_accuracy);
  if (e.epsilon) line += ", epsilon " + format_number(*e.epsilon);
  if (!e.validation_loss) return line;
  line += fmt::format("; validation: loss {:.4f}, accuracy {}", *e.validation_loss,
                      format_percent(e.validation_accuracy.value_or(0)));
  line += render_exits(e.validation_exit_accuracy);
  if (e.best_epoch == e.epoch) return line + " (best so far)";
  return line + fmt::format(" (best: {} after epoch {})", format_percent(e.best_accuracy.value_or(0)),
                            e.best_epoch.value_or(0));
}

/// What a line of progress says behind its bar.
struct StatusPart {
  std::string text;
  int importance;
};

std::vector<StatusPart> parts_of(const job::Progress& p) {
  std::vector<StatusPart> parts;
  if (p.epoch && p.epochs != 1) parts.push_back({fmt::format("epoch {}/{}", *p.epoch, p.epochs.value_or(0)), 3});
  if (p.step) parts.push_back({fmt::format("step {}/{}", *p.step, p.steps.value_or(0)), 1});
  if (p.loss) parts.push_back({fmt::format("loss {:.4f}", *p.loss), 2});
  if (p.accuracy) parts.push_back({"accuracy " + format_percent(*p.accuracy), 4});
  if (p.images_per_s > 0) parts.push_back({format_rate(p.images_per_s), 5});
  if (p.eta > 0) parts.push_back({format_seconds(p.eta) + " left", 6});
  return parts;
}

}  // namespace

std::string text_bar(double share, int width) {
  const int filled = static_cast<int>(std::clamp(std::isfinite(share) ? share : 0, 0.0, 1.0) * width);
  return "[" + std::string(static_cast<std::size_t>(filled), '#') +
         std::string(static_cast<std::size_t>(width - filled), '.') + "]";
}

std::string progress_line(const job::Progress& p, int columns) {
  constexpr int kLongestBar = 24, kMostImportant = 6;
  constexpr std::array kShorterBars = {10, 6};
  const double share = static_cast<double>(p.done) / std::max(static_cast<double>(p.total), 1.0);
  const std::vector<StatusPart> parts = parts_of(p);
  const auto line_with = [&](int bar, int least) {
    std::string line = fmt::format("{:<8} {} {:>5}", p.phase, text_bar(share, bar), format_percent(share, 0));
    for (const StatusPart& part : parts)
      if (part.importance >= least) line += "  " + part.text;
    return line;
  };
  std::string line = line_with(kLongestBar, 0);
  for (int least = 0; text_width(line) > columns && least <= kMostImportant; ++least)
    for (const int bar : kShorterBars)
      if (text_width(line) > columns) line = line_with(bar, least);
  return fitted(line, columns);
}

std::string wait_line(const std::string& phase, Seconds waited, Seconds expected, int columns) {
  if (expected <= 0) return fitted(fmt::format("{:<8} {}", phase, format_seconds(waited)), columns);
  constexpr Seconds kUnit = 1e-3;  // of a progress
  job::Progress progress{.phase = phase,
                         .done = std::llround(std::min(waited, expected) / kUnit),
                         .total = std::llround(expected / kUnit)};
  progress.eta = std::max(0.0, expected - waited);
  return progress_line(progress, columns);
}

ProgressDisplay::ProgressDisplay(bool enabled) : enabled_(enabled), terminal_(is_terminal(STDERR_FILENO)) {}

void ProgressDisplay::show(const Report& report) {
  if (!enabled_) return;
  const bool stays = report.kind == ReportKind::event || report.kind == ReportKind::epoch;  // a line on the screen
  const bool is_shown = report.kind == ReportKind::event      ? show_event(report)
                        : report.kind == ReportKind::epoch    ? show_epoch(report)
                        : report.kind == ReportKind::progress ? take_progress(report)
                        : report.kind == ReportKind::nodes    ? take_nodes(report)
                                                              : false;
  const Seconds pause = terminal_ ? kRedrawEvery : kPlainLineEvery;
  if (is_shown && (stays || clock_.now() - last_drawn_ >= pause)) draw();
}

bool ProgressDisplay::show_event(const Report& report) {
  const json body = json::parse(report.json, nullptr, /*allow_exceptions=*/false);
  if (!body.is_object()) return false;
  const EventText event = event_text(body);
  if (event.line.empty()) return false;
  const std::string line = printable(event.line);
  print_line(event.is_warning && has_colours(STDERR_FILENO) ? in_warning_colour(line) : line);
  return true;
}

bool ProgressDisplay::show_epoch(const Report& report) {
  const auto epoch = job::parse_json<train::EpochReport>(report.json);
  if (epoch.ok()) print_line(render_epoch(*epoch));
  return epoch.ok();
}

bool ProgressDisplay::take_progress(const Report& report) {
  auto progress = job::parse_json<job::Progress>(report.json);
  if (!progress.ok()) return false;
  if (progress_ && progress->phase != progress_->phase) finish();  // a finished phase stays on the screen
  progress_ = *std::move(progress);
  return unseen_ = true;
}

bool ProgressDisplay::take_nodes(const Report& report) {
  const auto nodes = job::parse_json<cluster::NodesReport>(report.json);
  if (!nodes.ok()) return false;
  nodes_.clear();
  for (const cluster::NodeUsage& node : nodes->nodes) nodes_.push_back(render_node(node));
  unseen_ = unseen_ || !progress_;
  return true;
}

std::vector<std::string> ProgressDisplay::lines(int columns, int rows) const {
  std::vector<std::string> all = {
      !progress_ ? fitted("preparing: nodes load and measure, " + format_seconds(clock_.now() - began_), columns)
                 : progress_line(*progress_, columns)};
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
  if (progress_ || !nodes_.empty()) {
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
  if (progress_)
    draw();
  else
    std::fputs(erasure().c_str(), stderr);
  drawn_.clear();
  progress_.reset();
}

bool shows_progress(const OutputOptions& output) {
  return !output.quiet && !output.json && is_terminal(STDERR_FILENO);
}

LoopProgress::LoopProgress(ProgressDisplay& display, std::string phase, std::int64_t total, Loop loop)
    : display_(display), phase_(std::move(phase)), total_(total), loop_(loop), start_(clock_.now()) {}

void LoopProgress::operator()(std::int64_t done) const {
  if (!display_.is_enabled()) return;
  job::Progress progress{.phase = phase_, .done = done, .total = total_};
  progress.images_per_s = static_cast<double>(done) / std::max(clock_.now() - start_, 1e-9);
  progress.estimate();
  if (loop_ != Loop::samples) progress.images_per_s = 0;
  display_.show({ReportKind::progress, dump(job::json_of(progress))});
}

WaitDisplay::WaitDisplay(bool enabled, std::string phase, Seconds expected) {
  if (!enabled) return;
  drawer_ = std::jthread([phase = std::move(phase), expected](const std::stop_token& over) {
    const SteadyClock clock;
    const Instant start = clock.now();
    do {
      const Seconds waited = clock.now() - start;
      const int columns = terminal_size(STDERR_FILENO).columns - 1;
      const std::string line = wait_line(phase, waited, expected, columns);
      std::fprintf(stderr, "\r%s\x1b[K", line.c_str());
    } while (!wait_for_stop(over, kRedrawEvery));
    std::fputs("\r\x1b[K", stderr);
  });
}

}  // namespace mangrove::cli
