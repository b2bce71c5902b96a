#include "mangrove/exits/early_exit.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>

#include "mangrove/base/check.h"
#include "mangrove/base/format.h"
#include "mangrove/learn/replica.h"

namespace mangrove::exits {

Result<std::vector<float>> parse_exit_numbers(const std::string& what, const std::string& text, const Graph& network) {
  const std::size_t wanted = has_early_exits(network) ? network.outputs().size() - 1 : 0;
  const auto wrong = [&] {
    return make_error(Code::invalid_argument,
                      what + ": expected " + format_things(static_cast<std::int64_t>(wanted), "number") +
                          " from 0 to 1, one for each early exit of the network, got '" + text + "'");
  };
  if (wanted == 0)
    return make_error(Code::invalid_argument, what + ": network '" + network.name() + "' has no early exits");
  std::vector<float> numbers;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data();; ++at) {
    float number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc() || !(number >= 0 && number <= 1) || (next != end && *next != ',')) return wrong();
    numbers.push_back(number);
    at = next;
    if (at == end) break;
  }
  if (numbers.size() != wanted) return wrong();
  return numbers;
}

std::string exit_numbers_text(std::span<const float> numbers) {
  return fmt::format("{}", fmt::join(numbers, ","));
}

Result<std::optional<std::vector<float>>> choose_exit_thresholds(const std::string& text, const Graph& network) {
  if (text == "none") return std::nullopt;
  const auto stored = network.metadata().find(kExitThresholdsKey);
  if (text.empty() && stored == network.metadata().end()) return std::nullopt;
  const std::string what = "exit_thresholds";
  MG_TRY(std::vector<float> thresholds, text.empty()
                                            ? parse_exit_numbers(what, stored->second, network).context("its metadata")
                                            : parse_exit_numbers(what, text, network));
  return thresholds;
}

Result<std::unique_ptr<EarlyExit>> EarlyExit::create(const Graph& graph, std::vector<float> thresholds,
                                                     const CompiledStageOptions& options, const ExitRange& range) {
  if (thresholds.size() + 1 != graph.outputs().size())
    return make_error(Code::invalid_argument, "exit_thresholds: " + std::to_string(thresholds.size()) +
                                                  " given, network '" + graph.name() + "' has " +
                                                  format_things(std::ssize(graph.outputs()) - 1, "early exit"));
  MG_RETURN_IF_ERROR(learn::check_classifier(graph));
  std::unique_ptr<EarlyExit> early(new EarlyExit(std::move(thresholds), range.first));
  MG_TRY(early->segments_, make_exit_segments(graph, options, range));
  return early;
}

Result<std::unique_ptr<EarlyExit>> EarlyExit::create_part(const Graph& part, std::vector<float> thresholds,
                                                          const CompiledStageOptions& options, std::size_t first) {
  std::unique_ptr<EarlyExit> early(new EarlyExit(std::move(thresholds), first));
  MG_TRY(early->segments_, make_exit_segments(part, options));
  return early;
}

void EarlyExit::set_thresholds(std::vector<float> thresholds) {
  MG_CHECK(thresholds.size() == thresholds_.size());
  thresholds_ = std::move(thresholds);
}

std::size_t EarlyExit::compiled() const {
  std::size_t programs = 0;
  for (const auto& segment : segments_) programs += segment->compiled();
  return programs;
}

Result<std::span<const EarlyExit::Answer>> EarlyExit::classify(std::int64_t count, std::span<const float> samples) {
  MG_TRY(const ExitSegment::Outcome outcome, segments_.front()->run(count, samples, threshold(first_)));
  return go_on(count, outcome);
}

Result<std::span<const EarlyExit::Answer>> EarlyExit::classify(std::int64_t count) {
  MG_TRY(const ExitSegment::Outcome outcome, segments_.front()->run(count, threshold(first_)));
  return go_on(count, outcome);
}

/// From what the first segment here made of all samples.
Result<std::span<const EarlyExit::Answer>> EarlyExit::go_on(std::int64_t count, ExitSegment::Outcome outcome) {
  const auto classes = static_cast<std::size_t>(this->classes());
  answers_.assign(static_cast<std::size_t>(count), {});
  logits_.resize(answers_.size() * classes);
  entropies_.assign(answers_.size() * exits(), std::numeric_limits<float>::quiet_NaN());
  samples_.resize(answers_.size());
  std::iota(samples_.begin(), samples_.end(), std::int64_t{0});
  flops_ = segments_.front()->flops(count);
  for (std::size_t here = 0;; ++here) {
    const bool is_last = here + 1 == segments_.size();
    std::size_t stayed = 0;
    for (std::size_t row = 0; row < outcome.entropies.size(); ++row) {
      const auto sample = static_cast<std::size_t>(samples_[row]);
      entropies_[sample * exits() + here] = outcome.entropies[row];
      const bool stays = stayed < outcome.stay.size() && outcome.stay[stayed] == static_cast<std::int64_t>(row);
      if (stays) samples_[stayed++] = samples_[row];
      if (stays && !is_last) continue;
      const auto logits = outcome.logits.subspan(row * classes, classes);
      std::ranges::copy(logits, logits_.begin() + static_cast<std::ptrdiff_t>(sample * classes));
      answers_[sample] = {.exit = static_cast<std::int32_t>(first_ + here + (stays ? 1 : 0)),
                          .predicted = static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin()),
                          .entropy = outcome.entropies[row]};
    }
    samples_.resize(stayed);
    passed_ = outcome.passed;
    if (samples_.empty() || is_last) return std::span<const Answer>(answers_);
    flops_ += segments_[here + 1]->flops(static_cast<std::int64_t>(stayed));
    MG_TRY(outcome, segments_[here + 1]->run(static_cast<std::int64_t>(stayed), passed_, threshold(first_ + here + 1)));
  }
}

}  // namespace mangrove::exits
