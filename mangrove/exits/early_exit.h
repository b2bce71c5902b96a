#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mangrove/exits/segment.h"
#include "mangrove/graph/exits.h"

namespace mangrove::exits {

/// "0.05,0.2": one number from 0 to 1 for each exit but the last, where all leave. what: names them in errors, as the
/// key exit_thresholds. errors: invalid_argument (no such numbers, or another number of them than the network has early
/// exits).
Result<std::vector<float>> parse_exit_numbers(const std::string& what, const std::string& text, const Graph& network);
std::string exit_numbers_text(std::span<const float> numbers);
/// The thresholds to run a network with: those of `text`; where it is empty, those of the network's metadata. Nothing
/// where it is "none", or where there are none in either: the whole network. errors: those of parse_exit_numbers.
Result<std::optional<std::vector<float>>> choose_exit_thresholds(const std::string& text, const Graph& network);

/// A network with early exits on one device, or those of its segments that lie there, decided sample by sample.
/// source: Teerapittayanon, McDanel & Kung, BranchyNet, ICPR 2016, algorithm 1.
/// threads: one at a time.
class EarlyExit {
 public:
  /// thresholds: one for each exit but the last; a network of one output has none, and is run whole. graph: its weights
  /// stay in memory, those of the range's segments alone. options.micro_batch: the most samples that classify() takes.
  /// errors: invalid_argument (another number of thresholds); those of learn::check_classifier and make_exit_segments.
  static Result<std::unique_ptr<EarlyExit>> create(const Graph& graph, std::vector<float> thresholds,
                                                   const CompiledStageOptions& options, const ExitRange& range = {});
  /// The same of a graph that is a part of a network, with its exits from `first` on, and takes values of other parts:
  /// classify() takes those of its inputs, one after the other. thresholds: of the whole network. errors: those of
  /// make_exit_segments.
  static Result<std::unique_ptr<EarlyExit>> create_part(const Graph& part, std::vector<float> thresholds,
                                                        const CompiledStageOptions& options, std::size_t first);

  /// Of one sample. One that stays at the last exit of the range has that exit's class and entropy.
  struct Answer {
    std::int32_t exit = 0;  // of the network, that it left at, from 0; of one that stays: the first behind the range
    std::int32_t predicted = 0;  // class
    float entropy = 0;           // normalised
  };
  /// Classifies samples [count, sample shape...]; of a range that does not begin with the first segment, what the one
  /// before has passed on of them. Valid until the next call. errors: those of ExitSegment::run.
  Result<std::span<const Answer>> classify(std::int64_t count, std::span<const float> samples);
  /// The same of samples that lie in first(count)'s inputs. errors: the same.
  Result<std::span<const Answer>> classify(std::int64_t count);
  Result<Execution*> first(std::int64_t count) { return segments_.front()->execution(count); }

  /// For the samples from now on. REQUIRES: as many as before.
  void set_thresholds(std::vector<float> thresholds);

  /// The values behind the range of the last samples that stayed, in their order: see ExitSegment::Outcome.
  std::span<const float> passed() const { return passed_; }
  /// [count, classes] of the last samples, each at the exit where it left.
  std::span<const float> logits() const { return logits_; }
  /// [count, exits], normalised, of the last samples at all exits of the range that they came to; NaN at those behind.
  std::span<const float> entropies() const { return entropies_; }
  std::int64_t classes() const { return segments_.front()->classes(); }
  std::size_t exits() const { return segments_.size(); }  // of the range
  /// Elements that classify() takes of so many samples.
  std::int64_t input_elements(std::int64_t count) const { return segments_.front()->input_elements(count); }
  /// Floating-point operations of the matrix products of the last classify(): see ExitSegment::flops().
  double flops() const { return flops_; }
  /// Programs so far, see ExitSegment: a call that makes one takes longer than the next like it.
  std::size_t compiled() const;

 private:
  EarlyExit(std::vector<float> thresholds, std::size_t first) : thresholds_(std::move(thresholds)), first_(first) {}
  float threshold(std::size_t exit) const { return exit < thresholds_.size() ? thresholds_[exit] : 1; }
  Result<std::span<const Answer>> go_on(std::int64_t count, ExitSegment::Outcome outcome);

  std::vector<float> thresholds_;  // of the whole network
  const std::size_t first_;        // exit of the first segment
  std::vector<std::unique_ptr<ExitSegment>> segments_;
  std::vector<std::int64_t> samples_;  // of the rows that are still there
  std::vector<Answer> answers_;
  std::span<const float> passed_;
  double flops_ = 0;
  std::vector<float> logits_, entropies_;
};

}  // namespace mangrove::exits
