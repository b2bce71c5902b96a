#include "mangrove/cli/reports/inference_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "mangrove/cli/reports/json_values.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kMostNames = 64;  // of phases, tiers, exits, or boards of stages
constexpr std::int64_t kMostExits = 16;
constexpr std::string_view kEvaluations[] = {"validate", "test",
                                             "evaluate"};  // phases of training; the last: until 0.1

/// The one of that name, which may be new. nullptr: there are too many.
template <class T>
T* named(std::vector<T>& all, const std::string& name) {
  const auto found = std::ranges::find(all, name, &T::name);
  if (found != all.end()) return &*found;
  if (all.size() == kMostNames) return nullptr;
  all.emplace_back().name = name;
  return &all.back();
}

}  // namespace

void InferenceHistory::take(const json& line) {
  const std::string kind = text_at(line, "kind");
  if (kind == "progress") take_progress(line);
  if (kind == "tier_answers") take_tier(line);
  if (kind == "stage_load") take_stages(line);
  if (kind == "tier_answers" || kind == "view_answers")
    if (const auto at = number_at(line, "at_s")) take_exits(line, *at);
}

/// Lines have the mean speed since the phase began, which says when they are from.
void InferenceHistory::take_progress(const json& line) {
  const auto done = number_at(line, "done"), mean = number_at(line, "images_per_s");
  const std::string name = text_at(line, "phase");
  const bool is_training = line.contains("epoch") || std::ranges::find(kEvaluations, name) != std::end(kEvaluations);
  if (is_training || !done || !mean || *mean <= 0) return;
  Phase* phase = named(phases_, name);
  if (phase == nullptr) return;
  const double seconds = *done / *mean;
  if (*done < phase->done) phase->done = phase->seconds = 0;  // it began anew
  if (seconds <= phase->seconds) return;
  phase->images_per_s.add(seconds, (*done - phase->done) / (seconds - phase->seconds));
  phase->done = *done;
  phase->seconds = seconds;
}

void InferenceHistory::take_tier(const json& line) {
  const auto at = number_at(line, "at_s"), latency = number_at(line, "latency_s");
  Answers* tier = named(tiers_, text_at(line, "tier"));
  if (!at || !latency || tier == nullptr) return;
  tier->images.add(*at, static_cast<double>(array_at(line, "classes").size()));
  tier->open.add_span(*at - *latency, *at);
  tier->latency.add(*at, *latency);
}

void InferenceHistory::take_exits(const json& line, double at) {
  std::map<std::int64_t, int> images;
  for (const json& exit : array_at(line, "exits"))
    if (exit.is_number_integer()) ++images[std::clamp<std::int64_t>(exit.get<std::int64_t>(), 0, kMostExits)];
  for (const auto& [exit, count] : images)
    if (Answers* answers = named(exits_, fmt::format("exit {}", exit))) answers->images.add(at, count);
}

void InferenceHistory::take_stages(const json& line) {
  const auto at = number_at(line, "at_s");
  if (!at) return;
  if (const auto latency = number_at(line, "latency_s")) latency_.add(*at, *latency);
  for (const json& one : array_at(line, "stages")) {
    Stage* stage = named(stages_, fmt::format("stage {} on {}", whole_at(one, "stage") + 1, text_at(one, "node")));
    if (stage == nullptr) return;
    stage->utilisation.add(*at, number_or_0(one, "utilisation"));
    stage->queue.add(*at, number_or_0(one, "queue"));
  }
}

}  // namespace mangrove::cli
