#include "mangrove/cli/reports/stage_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "mangrove/base/format.h"
#include "mangrove/base/units.h"
#include "mangrove/cli/reports/box_picture.h"
#include "mangrove/cli/reports/html.h"

namespace mangrove::cli {
namespace {

constexpr std::size_t kMostStages = 64;
constexpr std::size_t kMostListed = 1000;  // devices, or layers, of a stage
constexpr std::size_t kMostBoxNames = 4;   // of devices in a box
constexpr std::size_t kLongestTooltip = 2000;
constexpr std::size_t kLongestStageName = 100;

/// Of a stage with several boards: the means of these, and the most memory.
struct Stage {
  std::vector<std::string> nodes, layers;
  std::optional<double> busy, predicted_busy;  // seconds, for a micro-batch
  std::optional<double> utilisation, predicted_utilisation, queue;
  std::optional<double> sent, transfer;  // bytes, seconds: to the next stage
  Bytes memory = 0, predicted_memory = 0;
};

std::vector<std::string> shown_lines(const std::vector<std::string>& all) {
  std::vector<std::string> names;
  for (const std::string& name : all)
    if (names.size() < kMostListed) names.push_back(shortened(name, kLongestStageName));
  return names;
}

/// A number, or nothing.
std::optional<double> number(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

/// The mean of two boards of a stage: of the first, `boards` have been added up.
std::optional<double> mean(const std::optional<double>& a, std::size_t boards, const std::optional<double>& b) {
  if (!a || !b) return a ? a : b;
  return (*a * static_cast<double>(boards) + *b) / static_cast<double>(boards + 1);
}

Stage stage_of(const train::TrainedStage& s) {
  Stage stage;
  stage.nodes = shown_lines({s.node});
  stage.layers = shown_lines(s.operators);
  stage.busy = number(s.busy);
  stage.predicted_busy = s.predicted_busy;
  stage.utilisation = number(1 - s.idle);
  stage.predicted_utilisation = number(1 - s.predicted_idle);
  return stage;
}

Stage stage_of(const infer::StageReport& s) {
  Stage stage;
  stage.nodes = shown_lines({s.node});
  stage.layers = shown_lines(s.operators);
  stage.busy = number(s.busy);
  stage.predicted_busy = number(s.predicted_busy);
  stage.utilisation = number(s.utilisation);
  stage.predicted_utilisation = number(s.predicted_utilisation);
  stage.queue = number(s.queue_mean);
  stage.sent = static_cast<double>(s.bytes_per_image);
  stage.memory = s.resident;
  stage.predicted_memory = s.predicted_resident;
  return stage;
}

void add_board(Stage& stage, const Stage& board) {
  const std::size_t boards = stage.nodes.size();
  stage.nodes.push_back(board.nodes.front());
  stage.busy = mean(stage.busy, boards, board.busy);
  stage.predicted_busy = mean(stage.predicted_busy, boards, board.predicted_busy);
  stage.utilisation = mean(stage.utilisation, boards, board.utilisation);
  stage.predicted_utilisation = mean(stage.predicted_utilisation, boards, board.predicted_utilisation);
  stage.queue = mean(stage.queue, boards, board.queue);
  stage.memory = std::max(stage.memory, board.memory);
  stage.predicted_memory = std::max(stage.predicted_memory, board.predicted_memory);
}

Stage stage_of(const PlanFigures::Stage& s) {
  Stage stage;
  stage.nodes = shown_lines(s.devices);
  stage.layers = shown_lines(s.layers);
  stage.predicted_busy = number(s.busy);
  stage.predicted_utilisation = number(s.utilisation);
  stage.predicted_memory = s.memory;
  stage.sent = static_cast<double>(s.sent_bytes);
  stage.transfer = number(s.transfer);
  return stage;
}

/// Of a result, which has one for each board of each stage.
template <class Board>
std::vector<Stage> stages_of(const std::vector<Board>& boards) {
  std::vector<Stage> stages;
  const Board* last = nullptr;
  for (const Board& board : boards) {
    if (last != nullptr && board.stage == last->stage) {
      add_board(stages.back(), stage_of(board));
    } else {
      if (stages.size() == kMostStages) break;
      stages.push_back(stage_of(board));
    }
    last = &board;
  }
  return stages;
}

std::vector<Stage> stages_of(const std::vector<PlanFigures::Stage>& planned) {
  std::vector<Stage> stages;
  for (const PlanFigures::Stage& stage : planned)
    if (stages.size() < kMostStages) stages.push_back(stage_of(stage));
  return stages;
}

std::string joined(const std::vector<std::string>& names, const char* between) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : between) + name;
  return text;
}

std::string layers_text(const std::vector<std::string>& names) {
  if (names.empty()) return "";
  if (names.size() == 1) return names.front();
  return fmt::format("{} ... {} ({})", names.front(), names.back(), format_things(std::ssize(names), "layer"));
}

std::vector<std::string> node_lines(const std::vector<std::string>& nodes) {
  if (nodes.size() <= kMostBoxNames) return nodes;
  std::vector<std::string> lines(nodes.begin(), nodes.begin() + kMostBoxNames - 1);
  lines.push_back(fmt::format("and {} more", nodes.size() - lines.size()));
  return lines;
}

std::string bytes_text(double bytes) {
  return format_bytes(std::llround(std::clamp(bytes, 0.0, 1e15)));
}

Box box_of(const Stage& stage, std::size_t number, double longest) {
  Box box{.title = fmt::format("stage {}", number)};
  box.lines = node_lines(stage.nodes);
  if (!stage.layers.empty()) box.lines.push_back(layers_text(stage.layers));
  const auto add_bar = [&](const char* style, const std::optional<double>& share, const std::string& text) {
    if (share) box.bars.push_back({style, *share, text});
  };
  const auto part = [&](const std::optional<double>& seconds) {
    return seconds ? std::optional(longest > 0 ? *seconds / longest : 0) : std::nullopt;
  };
  const auto seconds_text = [](const std::optional<double>& seconds) { return format_seconds(seconds.value_or(0)); };
  const auto share_text = [](const std::optional<double>& share) { return format_percent(share.value_or(0), 0); };
  add_bar("a", part(stage.busy), seconds_text(stage.busy) + " a micro-batch");
  add_bar("b", part(stage.predicted_busy), seconds_text(stage.predicted_busy) + " predicted");
  add_bar("a", stage.utilisation, share_text(stage.utilisation) + " busy");
  add_bar("b", stage.predicted_utilisation, share_text(stage.predicted_utilisation) + " busy, predicted");
  if (stage.queue) box.lines.push_back(fmt::format("{:.1f} wait for it", *stage.queue));
  if (stage.sent && *stage.sent > 0) box.way.push_back(bytes_text(*stage.sent));
  if (stage.transfer && *stage.transfer > 0) box.way.push_back(format_seconds(*stage.transfer));
  box.tooltip =
      shortened(fmt::format("on {}: {}", joined(stage.nodes, ", "), joined(stage.layers, " ")), kLongestTooltip);
  return box;
}

std::string table_of(const std::vector<Stage>& stages, bool has_measured) {
  const auto seconds = [](const std::optional<double>& s) { return s ? escaped(format_seconds(*s)) : std::string(); };
  const auto share = [](const std::optional<double>& s) { return s ? format_percent(*s, 0) : std::string(); };
  const auto bytes = [](Bytes b) { return b > 0 ? format_bytes(b) : std::string(); };
  std::string html =
      "<div class=\"table\"><table><tr><th>stage</th><th class=\"text\">devices</th><th class=\"text\">layers</th>";
  if (has_measured) html += "<th>a micro-batch</th><th>busy</th><th>memory</th>";
  html += "<th>predicted</th><th>busy, predicted</th><th>memory, predicted</th><th>sends</th></tr>\n";
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const Stage& stage = stages[i];
    html += fmt::format(R"(<tr><td>{}</td><td class="text">{}</td><td class="text">{}</td>)", i + 1,
                        escaped(joined(stage.nodes, ", ")), escaped(layers_text(stage.layers)));
    if (has_measured)
      html += fmt::format("<td>{}</td><td>{}</td><td>{}</td>", seconds(stage.busy), share(stage.utilisation),
                          bytes(stage.memory));
    html += fmt::format("<td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", seconds(stage.predicted_busy),
                        share(stage.predicted_utilisation), bytes(stage.predicted_memory),
                        stage.sent && *stage.sent > 0 ? bytes_text(*stage.sent) : "");
  }
  return html + "</table></div>\n";
}

Drawing drawing_of_stages(const std::vector<Stage>& stages) {
  double longest = 0;
  for (const Stage& stage : stages)
    longest = std::max({longest, stage.busy.value_or(0), stage.predicted_busy.value_or(0)});
  std::vector<Box> boxes;
  for (std::size_t i = 0; i < stages.size(); ++i) boxes.push_back(box_of(stages[i], i + 1, longest));
  return chain_drawing("the stages of the network, and what travels between them", boxes);
}

std::string picture_of(const std::vector<Stage>& stages) {
  if (stages.empty()) return {};
  const bool has_measured =
      std::ranges::any_of(stages, [](const Stage& stage) { return stage.busy || stage.utilisation; });
  const char* legend = has_measured
                           ? "<p class=\"legend\"><b class=\"a\">measured</b><b class=\"b\">predicted</b></p>\n"
                           : "<p class=\"legend\"><b class=\"b\">predicted</b></p>\n";
  return legend + svg_in_page(drawing_of_stages(stages)) + table_of(stages, has_measured);
}

}  // namespace

std::string stage_picture(const std::vector<train::TrainedStage>& stages) {
  return picture_of(stages_of(stages));
}

std::string stage_picture(const std::vector<infer::StageReport>& stages) {
  return picture_of(stages_of(stages));
}

std::string stage_picture(const std::vector<PlanFigures::Stage>& stages) {
  return picture_of(stages_of(stages));
}

Drawing stage_drawing(const std::vector<PlanFigures::Stage>& stages) {
  return drawing_of_stages(stages_of(stages));
}

}  // namespace mangrove::cli
