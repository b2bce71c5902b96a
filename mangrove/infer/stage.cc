#include "mangrove/infer/stage.h"

#include <algorithm>

#include "mangrove/engine/load_parameters.h"
#include "mangrove/graph/cut.h"

namespace mangrove::infer {

Result<std::unique_ptr<Stage>> Stage::create(const Graph& graph, std::size_t first, std::size_t last,
                                             const StageOptions& options) {
  std::unique_ptr<Stage> stage(new Stage);
  stage->options_ = options;
  MG_TRY(const Graph slice, graph.slice(first, last));
  const auto values = [&](std::size_t position, auto is_here) -> Result<std::vector<Value>> {
    std::vector<Value> found;
    for (const std::string& name : values_at_cut(graph, position)) {
      const ValueInfo& info = graph.value(name);
      if (info.dtype != DType::f32) {
        return make_error(Code::unimplemented, "value '" + name + "' of type " + dtype_name(info.dtype) +
                                                   " cannot travel between stages; only f32 can");
      }
      if (!info.shape.allows_batch_first()) {
        return make_error(Code::unimplemented, "value '" + name + "' of shape " + to_string(info.shape) +
                                                   " cannot travel between stages; its batch must be dimension 0");
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
  MG_TRY(auto program, Program::compile(slice.without_weights(), {.mode = Mode::inference,
                                                                  .batch = options.micro_batch,
                                                                  .backend = options.backend,
                                                                  .fuse = options.fuse,
                                                                  .threads = options.threads}));
  MG_TRY(stage->execution_, Execution::create(std::move(program), options.threads));
  MG_RETURN_IF_ERROR(load_parameters(*stage->execution_, slice));
  return stage;
}

std::int64_t Stage::input_elements(std::int64_t count) const {
  std::int64_t elements = 0;
  for (const Value& value : before_) elements += elements_of(value.info, count);
  return elements;
}

Result<std::span<const float>> Stage::run(std::int64_t count, std::span<const float> received) {
  if (count < 1 || count > options_.micro_batch ||
      input_elements(count) != static_cast<std::int64_t>(received.size())) {
    return make_error(Code::data_loss, "stage: got " + std::to_string(received.size()) + " values for " +
                                           std::to_string(count) + " samples");
  }
  std::map<std::string, std::span<const float>> passing;
  for (std::size_t offset = 0; const Value& value : before_) {
    const auto rows = received.subspan(offset, static_cast<std::size_t>(elements_of(value.info, count)));
    offset += rows.size();
    passing[value.name] = rows;
    if (!value.here) continue;
    const std::span<float> input = execution_->input<float>(value.name);
    std::fill(std::copy(rows.begin(), rows.end(), input.begin()), input.end(), 0.0f);
  }
  execution_->forward();
  sent_.clear();
  for (const Value& value : after_) {
    const auto elements = static_cast<std::size_t>(elements_of(value.info, count));
    const auto rows = value.here ? execution_->output<float>(value.name).first(elements) : passing.at(value.name);
    sent_.insert(sent_.end(), rows.begin(), rows.end());
  }
  return std::span<const float>(sent_);
}

}  // namespace mangrove::infer
