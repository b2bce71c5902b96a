#include "mangrove/engine/compiled_stage.h"

#include <algorithm>

#include "mangrove/graph/cut.h"
#include "mangrove/graph/multiply_adds.h"

namespace mangrove {

CompileOptions CompiledStageOptions::for_batch(std::int64_t batch) const {
  return {.mode = Mode::inference,
          .batch = batch,
          .backend = backend,
          .fuse = fuse,
          .threads = threads,
          .timing_only = timing_only};
}

Result<std::unique_ptr<CompiledStage>> CompiledStage::create(const Graph& graph, std::size_t first, std::size_t last,
                                                             const CompiledStageOptions& options,
                                                             const LoadParameters& load) {
  std::unique_ptr<CompiledStage> stage(new CompiledStage);
  stage->options_ = options;
  MG_TRY(const Graph slice, graph.slice(first, last));
  stage->flops_ = 2.0 * static_cast<double>(multiply_adds(slice, options.micro_batch));
  const auto values = [&](std::size_t position, auto is_here) -> Result<std::vector<Value>> {
    std::vector<Value> found;
    for (const std::string& name : values_at_cut(graph, position)) {
      const ValueInfo& info = graph.value(name);
      if (info.dtype != DType::f32) {
        return make_error(Code::unimplemented, "value '" + name + "' of type " + dtype_name(info.dtype) +
                                                   " cannot travel between stages; only f32 can");
      }
      if (info.shape.is_symbolic() && info.shape.batch_axis() != 0u) {
        return make_error(Code::unimplemented, "value '" + name + "' of shape " + to_string(info.shape) +
                                                   " cannot travel between stages; its dimension 0 must be the batch");
      }
      found.push_back({name, info, is_here(name)});
    }
    return found;
  };
  MG_TRY(stage->before_, values(first, [&](const std::string& name) {
           return std::any_of(slice.inputs().begin(), slice.inputs().end(),
                              [&](const auto& in) { return in.first == name; });
         }));
  MG_TRY(stage->after_, values(last, [&](const std::string& name) {
           return std::find(slice.outputs().begin(), slice.outputs().end(), name) != slice.outputs().end();
         }));
  const bool none_passes = std::ranges::all_of(stage->after_, &Value::here);
  stage->direct_input_ = none_passes && stage->before_.size() == 1 && stage->before_.front().here;
  stage->direct_output_ = none_passes && stage->after_.size() == 1;
  MG_TRY(auto program, Program::compile(slice.without_weights(), options.for_batch(options.micro_batch)));
  MG_TRY(stage->execution_, Execution::create(std::move(program), options.threads));
  MG_RETURN_IF_ERROR(load(*stage->execution_, slice));
  return stage;
}

std::int64_t CompiledStage::input_elements(std::int64_t count) const {
  std::int64_t elements = 0;
  for (const Value& value : before_) elements += elements_of(value.info, count);
  return elements;
}

std::span<float> CompiledStage::input(std::int64_t count) {
  MG_CHECK(count >= 1 && count <= options_.micro_batch);
  const auto elements = static_cast<std::size_t>(input_elements(count));
  if (direct_input_) return execution_->input<float>(before_.front().name).first(elements);
  received_.resize(elements);
  return received_;
}

/// Hands the received values to the inputs of the sub-graph; returns all of them.
CompiledStage::ByName CompiledStage::spread(std::int64_t count) {
  ByName values;
  for (std::size_t offset = 0; const Value& value : before_) {
    const auto elements = static_cast<std::size_t>(elements_of(value.info, count));
    const auto rows = std::span<const float>(received_).subspan(offset, elements);
    offset += elements;
    values[value.name] = rows;
    if (value.here) std::ranges::copy(rows, execution_->input<float>(value.name).begin());
  }
  return values;
}

std::span<const float> CompiledStage::made(const Value& value, std::int64_t count) const {
  return execution_->output<float>(value.name).first(static_cast<std::size_t>(elements_of(value.info, count)));
}

std::span<const float> CompiledStage::run(std::int64_t count) {
  ByName passing;
  if (!direct_input_) passing = spread(count);
  execution_->forward();
  if (direct_output_) return made(after_.front(), count);
  sent_.clear();
  for (const Value& value : after_) {
    const std::span<const float> rows = value.here ? made(value, count) : passing.at(value.name);
    sent_.insert(sent_.end(), rows.begin(), rows.end());
  }
  return sent_;
}

}  // namespace mangrove
