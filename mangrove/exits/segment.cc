#include "mangrove/exits/segment.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "mangrove/base/check.h"
#include "mangrove/engine/load_parameters.h"
#include "mangrove/graph/cut.h"
#include "mangrove/graph/multiply_adds.h"

namespace mangrove::exits {

float normalised_entropy(std::span<const float> logits) {
  if (logits.size() < 2) return 0;
  const float largest = *std::ranges::max_element(logits);
  // H = log sum e^d - (sum d e^d) / sum e^d, where d is what a logit lies below the largest
  float sum = 0, weighted = 0;
  for (const float x : logits) {
    const float share = std::exp(x - largest);
    sum += share;
    if (share > 0) weighted += share * (x - largest);  // 0 * infinity is 0
    if (std::isnan(x)) return x;
  }
  const float entropy = std::log(sum) - weighted / sum;
  return std::clamp(entropy / std::log(static_cast<float>(logits.size())), 0.0f, 1.0f);
}

Result<std::vector<ExitSegment::Value>> ExitSegment::values_at(const Graph& network, std::size_t position) {
  std::vector<Value> values;
  for (const std::string& name : values_at_cut(network, position)) {
    const ValueInfo& info = network.value(name);
    if (info.dtype != DType::f32 || info.shape.batch_axis() != 0u)
      return make_error(Code::unimplemented, "value '" + name + "' of type " + dtype_name(info.dtype) + " and shape " +
                                                 to_string(info.shape) +
                                                 " cannot cross an exit: only f32 with the samples in dimension 0 can");
    values.push_back({name, elements_of(info, 1), false});
  }
  return values;
}

Result<std::unique_ptr<ExitSegment>> ExitSegment::create(const ExitSegments& network, std::size_t exit,
                                                         const CompiledStageOptions& options) {
  const Graph& graph = network.graph;
  const std::size_t first = network.begin(exit), last = network.ends[exit];
  MG_TRY(Graph slice, graph.slice(first, last));
  std::unique_ptr<ExitSegment> segment(new ExitSegment(std::move(slice), options));
  segment->sample_flops_ = 2.0 * static_cast<double>(multiply_adds(segment->slice_, 1));
  segment->output_ = graph.outputs()[exit];
  segment->classes_ = graph.value(segment->output_).shape[1];
  segment->is_last_ = exit + 1 == graph.outputs().size();
  // logits of exits go nowhere by themselves
  GraphParts parts = graph.parts();
  parts.outputs = {graph.outputs().back()};
  MG_TRY(const Graph trunk, Graph::create(std::move(parts)));
  MG_TRY(segment->before_, values_at(trunk, first));
  if (!segment->is_last_) {
    MG_TRY(segment->behind_, values_at(trunk, last));
  }
  const Graph& here = segment->slice_;
  for (Value& value : segment->before_)
    value.here = std::ranges::any_of(here.inputs(), [&](const auto& input) { return input.first == value.name; });
  for (Value& value : segment->behind_) value.here = std::ranges::count(here.outputs(), value.name) > 0;
  segment->skips_ = std::ranges::any_of(segment->behind_, [](const Value& value) { return !value.here; });
  return segment;
}

std::int64_t ExitSegment::input_elements(std::int64_t count) const {
  std::int64_t elements = 0;
  for (const Value& value : before_) elements += value.width * count;
  return elements;
}

Bytes ExitSegment::passed_bytes() const {
  std::int64_t elements = 0;
  for (const Value& value : behind_) elements += value.width;
  return elements * static_cast<Bytes>(sizeof(float));
}

/// The size that is compiled for so many samples.
std::int64_t ExitSegment::size_for(std::int64_t count) const {
  return std::min(options_.micro_batch, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(count))));
}

Result<Execution*> ExitSegment::execution(std::int64_t count) {
  if (count < 1 || count > options_.micro_batch)
    return make_error(Code::data_loss, "exit '" + output_ + "': got " + std::to_string(count) +
                                           " samples, expected from 1 to " + std::to_string(options_.micro_batch));
  const std::int64_t size = size_for(count);
  std::unique_ptr<Execution>& execution = executions_[size];
  if (execution != nullptr) return execution.get();
  MG_TRY(auto program, Program::compile(slice_.without_weights(), options_.for_batch(size)));
  MG_TRY(auto compiled, Execution::create(std::move(program), options_.threads));
  MG_RETURN_IF_ERROR(load_parameters(*compiled, slice_));
  execution = std::move(compiled);
  return execution.get();
}

Result<ExitSegment::Outcome> ExitSegment::run(std::int64_t count, std::span<const float> received, float threshold) {
  MG_TRY(Execution * execution, this->execution(count));
  if (input_elements(count) != static_cast<std::int64_t>(received.size()))
    return make_error(Code::data_loss, "exit '" + output_ + "': got " + std::to_string(received.size()) +
                                           " values for " + std::to_string(count) + " samples, expected " +
                                           std::to_string(input_elements(count)));
  for (std::span<const float> rest = received; const Value& value : before_) {
    const auto rows = rest.first(static_cast<std::size_t>(value.width * count));
    rest = rest.subspan(rows.size());
    if (!value.here) continue;
    const std::span<float> input = execution->input<float>(value.name);
    std::fill(std::copy(rows.begin(), rows.end(), input.begin()), input.end(), 0.0f);
  }
  return outcome(*execution, count, received, threshold);
}

Result<ExitSegment::Outcome> ExitSegment::run(std::int64_t count, float threshold) {
  MG_TRY(Execution * execution, this->execution(count));
  kept_.clear();
  for (const Value& value : before_) {
    if (!skips_) break;  // else what lies in the execution may be gone when it has run
    if (!value.here)
      return make_error(Code::unimplemented, "input '" + value.name + "' is not read before the first exit");
    const auto rows = execution->input<float>(value.name).first(static_cast<std::size_t>(value.width * count));
    kept_.insert(kept_.end(), rows.begin(), rows.end());
  }
  return outcome(*execution, count, kept_, threshold);
}

ExitSegment::Outcome ExitSegment::outcome(Execution& execution, std::int64_t count, std::span<const float> received,
                                          float threshold) {
  execution.forward();
  const auto logits = execution.output<float>(output_).first(static_cast<std::size_t>(count * classes_));
  entropies_.clear();
  stay_.clear();
  for (std::int64_t row = 0; row < count; ++row) {
    const auto first = static_cast<std::size_t>(row * classes_);
    entropies_.push_back(normalised_entropy(logits.subspan(first, static_cast<std::size_t>(classes_))));
    const bool leaves = entropies_.back() <= threshold;  // not where it is no number
    if (!is_last_ && !leaves) stay_.push_back(row);
  }
  pass_on(execution, count, received);
  return {logits, entropies_, stay_, passed_};
}

Result<std::vector<std::unique_ptr<ExitSegment>>> make_exit_segments(const Graph& graph,
                                                                     const CompiledStageOptions& options,
                                                                     const ExitRange& range) {
  MG_TRY(const ExitSegments network, exit_segments(graph));
  std::vector<std::unique_ptr<ExitSegment>> segments;
  for (std::size_t exit = range.first; exit < std::min(range.end, network.ends.size()); ++exit) {
    MG_TRY(segments.emplace_back(), ExitSegment::create(network, exit, options));
  }
  if (!segments.empty()) return segments;
  return make_error(Code::invalid_argument, "graph '" + graph.name() + "' has no exit " +
                                                std::to_string(range.first + 1) + ": it has " +
                                                std::to_string(network.ends.size()));
}

/// Of a value before the segment.
std::span<const float> ExitSegment::rows_of(const std::string& name, std::int64_t count,
                                            std::span<const float> received) const {
  for (const Value& value : before_) {
    const auto elements = static_cast<std::size_t>(value.width * count);
    if (value.name == name) return received.first(elements);
    received = received.subspan(elements);
  }
  MG_CHECK_MSG(false, name);  // what is made elsewhere comes from before
  return {};
}

/// Of the rows that stay.
void ExitSegment::pass_on(Execution& execution, std::int64_t count, std::span<const float> received) {
  passed_.clear();
  if (stay_.empty()) return;
  for (const Value& value : behind_) {
    const std::span<const float> rows =
        value.here ? execution.output<float>(value.name) : rows_of(value.name, count, received);
    for (const std::int64_t row : stay_) {
      const auto from =
          rows.subspan(static_cast<std::size_t>(row * value.width), static_cast<std::size_t>(value.width));
      passed_.insert(passed_.end(), from.begin(), from.end());
    }
  }
}

}  // namespace mangrove::exits
