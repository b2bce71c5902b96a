#include "mangrove/cli/reports/inference_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "mangrove/base/report.h"
#include "mangrove/cli/reports/html.h"
#include "mangrove/cli/reports/metrics_line.h"

namespace mangrove::cli {
namespace {

constexpr std::size_t kMostNames = 64;  // of phases, tiers, exits, or boards of stages
constexpr std::int64_t kMostExits = 16;
constexpr std::string_view kEvaluations[] = {"validate", "test",
                                             "evaluate"};  // phases of training; the last: until 0.1

/// The one of that name, which may be new. nullptr: there are too many.
template <class T>
T* named(std::vector<T>& all, const std::string& whole_name) {
  const std::string name = shortened(whole_name, kLongestName);
  const auto found = std::ranges::find(all, name, &T::name);
  if (found != all.end()) return &*found;
  if (all.size() == kMostNames) return nullptr;
  all.emplace_back().name = name;
  return &all.back();
}

}  // namespace

void InferenceHistory::take(const nlohmann::json& line) {
  if (const auto progress = read_line<job::Progress>(line, report_kind_name(ReportKind::progress)))
    take_progress(*progress);
  if (const auto load = read_line<infer::StageLoad>(line)) take_stages(*load);
  if (const auto answers = read_line<infer::TierAnswersLine>(line)) take_tier(*answers);
  if (const auto answers = read_line<infer::ViewAnswersLine>(line))
    for (const std::int64_t exit : answers->exits) take_exit(exit, answers->at);
}

/// Lines have the mean speed since the phase began, which says when they are from.
void InferenceHistory::take_progress(const job::Progress& progress) {
  const bool is_training = progress.epoch || std::ranges::find(kEvaluations, progress.phase) != std::end(kEvaluations);
  if (is_training || !(progress.images_per_s > 0)) return;
  Phase* phase = named(phases_, progress.phase);
  if (phase == nullptr) return;
  const auto done = static_cast<double>(progress.done);
  const double seconds = done / progress.images_per_s;
  if (done < phase->done) phase->done = phase->seconds = 0;  // it began anew
  if (!(seconds > phase->seconds)) return;
  phase->images_per_s.add(seconds, (done - phase->done) / (seconds - phase->seconds));
  phase->done = done;
  phase->seconds = seconds;
}

void InferenceHistory::take_tier(const infer::TierAnswersLine& line) {
  if (!std::isfinite(line.at) || !std::isfinite(line.latency)) return;
  if (line.exits)
    for (const std::optional<std::int64_t>& exit : *line.exits)
      if (exit) take_exit(*exit, line.at);
  Answers* tier = named(tiers_, line.tier);
  if (tier == nullptr) return;
  tier->images.add(line.at, static_cast<double>(line.classes.size()));
  tier->open.add_span(line.at - line.latency, line.at);
  tier->latency.add(line.at, line.latency);
}

void InferenceHistory::take_exit(std::int64_t exit, Seconds at) {
  if (!std::isfinite(at)) return;
  Answers* answers = named(exits_, fmt::format("exit {}", std::clamp<std::int64_t>(exit, 0, kMostExits)));
  if (answers != nullptr) answers->images.add(at, 1);
}

void InferenceHistory::take_stages(const infer::StageLoad& line) {
  if (!std::isfinite(line.at)) return;
  latency_.add(line.at, line.latency);
  for (const infer::StageLoad::Board& board : line.stages) {
    Stage* stage = named(stages_, fmt::format("stage {} on {}", board.stage + 1, board.node));
    if (stage == nullptr) return;
    stage->utilisation.add(line.at, board.utilisation);
    stage->queue.add(line.at, board.queue);
  }
}

}  // namespace mangrove::cli
