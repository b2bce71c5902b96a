#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mangrove/engine/compiled_stage.h"
#include "mangrove/engine/execution.h"
#include "mangrove/graph/exits.h"

namespace mangrove::exits {

/// Entropy of softmax(logits) divided by that of equal shares: from 0 (certain) to 1 (all classes alike); NaN where a
/// logit is. Of a single class 0. source: Teerapittayanon, McDanel & Kung, Distributed deep neural networks over the
/// cloud, the edge and end devices, ICDCS 2017, section III-D.
float normalised_entropy(std::span<const float> logits);

/// The part of a network between two of its exits, compiled for one device: what exit k needs beyond exit k - 1. It
/// says which samples leave at its exit and gives the values of the others on, without gaps, so that what has left
/// costs nothing later. Segments of one network may lie on different devices.
///
/// It is compiled for 1, 2, 4 ... samples, each size when it is first needed, so that few samples cost little; each
/// size has its own copy of the weights.
/// threads: one at a time.
class ExitSegment {
 public:
  /// Segment `exit` (from 0) of a network. options.micro_batch: the most samples that run() takes.
  /// errors: those of Graph::slice; unimplemented (a value that crosses to another segment and is not f32 with its
  /// samples in dimension 0: names it).
  static Result<std::unique_ptr<ExitSegment>> create(const ExitSegments& network, std::size_t exit,
                                                     const CompiledStageOptions& options);

  /// Of one run; valid until the next.
  struct Outcome {
    std::span<const float> logits;       // [count, classes]
    std::span<const float> entropies;    // [count], normalised
    std::span<const std::int64_t> stay;  // rows that do not leave here, in order
    std::span<const float> passed;       // the values behind the segment of these rows, one value after the other
  };
  /// Runs on `count` samples. `received` holds the values before the segment, one after the other: what the segment
  /// before has passed, or the network's input. Those of an entropy of at most `threshold` leave; at the last exit,
  /// all. errors: data_loss (another number of elements than `count` samples have, or of samples than there may be),
  /// those of Program::compile and Execution::create.
  Result<Outcome> run(std::int64_t count, std::span<const float> received, float threshold);

  /// What run() computes so many samples with. For whoever fills in the network's input there: run() without `received`
  /// then does the rest. The first segment only. errors: those of Program::compile and Execution::create.
  Result<Execution*> execution(std::int64_t count);
  Result<Outcome> run(std::int64_t count, float threshold);

  /// Floating-point operations of the matrix products of run() for so many samples: those of the size that it takes.
  double flops(std::int64_t count) const { return sample_flops_ * static_cast<double>(size_for(count)); }
  std::int64_t input_elements(std::int64_t count) const;  // that run() wants
  std::int64_t classes() const { return classes_; }
  /// Bytes of the values behind the segment for one sample; 0 behind the last.
  Bytes passed_bytes() const;
  std::size_t compiled() const { return executions_.size(); }  // sizes so far

 private:
  struct Value {
    std::string name;
    std::int64_t width;  // elements of one sample
    bool here;           // of the values before: read by an operator of the segment; of those behind: made by one
  };
  ExitSegment(Graph slice, const CompiledStageOptions& options) : slice_(std::move(slice)), options_(options) {}
  static Result<std::vector<Value>> values_at(const Graph& network, std::size_t position);
  std::int64_t size_for(std::int64_t count) const;
  Outcome outcome(Execution& execution, std::int64_t count, std::span<const float> received, float threshold);
  std::span<const float> rows_of(const std::string& name, std::int64_t count, std::span<const float> received) const;
  void pass_on(Execution& execution, std::int64_t count, std::span<const float> received);

  Graph slice_;
  CompiledStageOptions options_;
  double sample_flops_ = 0;
  std::string output_;
  std::int64_t classes_ = 0;
  bool is_last_ = false;
  std::vector<Value> before_, behind_;
  bool skips_ = false;                                             // a value from before is needed behind
  std::map<std::int64_t, std::unique_ptr<Execution>> executions_;  // by samples
  std::vector<float> kept_, entropies_, passed_;
  std::vector<std::int64_t> stay_;
};

/// Segments [first, end) of a network, by exit; all, unless said otherwise.
struct ExitRange {
  std::size_t first = 0;
  std::size_t end = std::numeric_limits<std::size_t>::max();
};

/// Segments of a network on one device, which may take several inputs: then what the first gets are their values, one
/// after the other. errors: those of exit_segments and ExitSegment::create; invalid_argument (none of the network's
/// segments is in the range).
Result<std::vector<std::unique_ptr<ExitSegment>>> make_exit_segments(const Graph& graph,
                                                                     const CompiledStageOptions& options,
                                                                     const ExitRange& range = {});

}  // namespace mangrove::exits
