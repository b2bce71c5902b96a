#include "mangrove/train/pipeline/stage_values.h"

#include <algorithm>
#include <map>

#include "mangrove/graph/cut.h"

namespace mangrove::train {
namespace {

bool is_input(const Graph& graph, const std::string& name) {
  return std::any_of(graph.inputs().begin(), graph.inputs().end(),
                     [&](const auto& input) { return input.first == name; });
}

}  // namespace

Status can_be_cut(const Graph& graph, std::size_t position) {
  for (const std::string& name : values_at_cut(graph, position)) {
    const ValueInfo& info = graph.value(name);
    if (info.dtype == DType::f32 && info.shape.batch_axis() == 0u) continue;
    return make_error(Code::unimplemented, "value '" + name + "' is " + dtype_name(info.dtype) + " " +
                                               to_string(info.shape) +
                                               " and cannot travel between stages; expected f32 [N, ...]");
  }
  return {};
}

Result<StageValues> StageValues::of(const Graph& graph, const Graph& slice, std::size_t first, std::size_t last,
                                    std::int64_t rows) {
  StageValues values;
  const auto describe = [&](std::size_t position, auto is_here) -> Result<std::vector<Value>> {
    MG_RETURN_IF_ERROR(can_be_cut(graph, position));
    std::vector<Value> found;
    for (const std::string& name : values_at_cut(graph, position)) {
      const auto elements = static_cast<std::size_t>(elements_of(graph.value(name), rows));
      found.push_back({name, elements, is_here(name), !is_input(graph, name)});
    }
    return found;
  };
  MG_TRY(values.before_, describe(first, [&](const std::string& name) { return is_input(slice, name); }));
  MG_TRY(values.behind_, describe(last, [&](const std::string& name) {
           return std::find(slice.outputs().begin(), slice.outputs().end(), name) != slice.outputs().end();
         }));
  for (const Value& value : values.before_) {
    values.received_ += value.elements;
    values.gradient_sent_ += value.comes_back ? value.elements : 0;
  }
  for (const Value& value : values.behind_) {
    values.sent_ += value.elements;
    values.gradient_received_ += value.comes_back ? value.elements : 0;
  }
  return values;
}

void StageValues::write_inputs(std::span<const float> received, Execution& stage) const {
  for (const Value& value : before_) {
    if (value.is_here) std::copy_n(received.begin(), value.elements, stage.input<float>(value.name).begin());
    received = received.subspan(value.elements);
  }
}

void StageValues::read_outputs(std::span<const float> received, Execution& stage, std::vector<float>& sent) const {
  std::map<std::string, std::span<const float>> passing;
  for (const Value& value : before_) {
    passing[value.name] = received.first(value.elements);
    received = received.subspan(value.elements);
  }
  sent.clear();
  for (const Value& value : behind_) {
    const std::span<const float> elements = value.is_here ? stage.output<float>(value.name) : passing.at(value.name);
    sent.insert(sent.end(), elements.begin(), elements.end());
  }
}

void StageValues::write_gradients(std::span<const float> received, Execution& stage) const {
  for (const Value& value : behind_) {
    if (!value.comes_back) continue;
    if (value.is_here) std::copy_n(received.begin(), value.elements, stage.output_gradient<float>(value.name).begin());
    received = received.subspan(value.elements);
  }
}

/// A value that is used here and behind has a part of its gradient from both.
void StageValues::read_gradients(std::span<const float> received, Execution& stage, std::vector<float>& sent) const {
  std::map<std::string, std::span<const float>> passing;
  for (const Value& value : behind_) {
    if (!value.comes_back) continue;
    if (!value.is_here) passing[value.name] = received.first(value.elements);
    received = received.subspan(value.elements);
  }
  sent.assign(gradient_sent_, 0.0f);
  auto next = sent.begin();
  for (const Value& value : before_) {
    if (!value.comes_back) continue;
    const auto add = [&](std::span<const float> gradient) {
      std::transform(gradient.begin(), gradient.end(), next, next, std::plus<>());
    };
    if (const auto found = passing.find(value.name); found != passing.end()) add(found->second);
    if (value.is_here) add(stage.input_gradient<float>(value.name));
    next += static_cast<std::ptrdiff_t>(value.elements);
  }
}

}  // namespace mangrove::train
