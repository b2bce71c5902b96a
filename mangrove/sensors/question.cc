#include "mangrove/sensors/question.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "mangrove/learn/top_classes.h"
#include "mangrove/tensor/tensor.h"

namespace mangrove::sensors {
namespace {

/// Of one sample: the first dimension is the batch. 0: the model has none of one f32 input.
std::int64_t numbers_of_sample(const serve::ModelMetadata& model) {
  if (model.inputs.size() != 1 || model.inputs[0].dtype != DType::f32 || model.inputs[0].shape.empty()) return 0;
  std::int64_t numbers = 1;
  for (std::size_t i = 1; i < model.inputs[0].shape.size(); ++i) numbers *= model.inputs[0].shape[i];
  return model.inputs[0].shape[0] == -1 || model.inputs[0].shape[0] == 1 ? numbers : 0;
}

Error wrong_count(const serve::ModelMetadata& model, std::int64_t found) {
  if (numbers_of_sample(model) == 0)
    return make_error(Code::invalid_argument,
                      "model '" + model.name + "' does not take one input of f32, sample by sample");
  return make_error(Code::invalid_argument, fmt::format("model '{}' takes {} numbers, and the sample has {}",
                                                        model.name, numbers_of_sample(model), found));
}

/// errors: unimplemented: numbers that are not f32.
Result<nlohmann::json> values_of(const serve::InferenceResponse& response) {
  nlohmann::json outputs = nlohmann::json::object();
  for (const serve::NamedTensor& output : response.outputs) {
    nlohmann::json& numbers = outputs[output.name] = nlohmann::json::array();
    if (output.tensor.dtype() != DType::f32)
      return make_error(Code::unimplemented, "output '" + output.name + "' is not of f32");
    for (const float value : std::as_const(output.tensor).as<float>())
      numbers.push_back(std::isfinite(value) ? nlohmann::json(value) : nlohmann::json());
  }
  return outputs;
}

}  // namespace

Result<serve::InferenceRequest> request_of(const Question& question, const SourceOptions& source,
                                           const serve::ModelMetadata& model, serve::ImageClassifier& images) {
  if (question.values.empty()) return images.request(model, question.raw);
  const auto count = static_cast<std::int64_t>(question.values.size());
  if (numbers_of_sample(model) != count) return wrong_count(model, count);
  std::vector<std::int64_t> shape = model.inputs[0].shape;
  shape[0] = 1;
  Tensor input(DType::f32, Shape(shape));
  std::ranges::copy(question.values, input.as<float>().begin());
  serve::InferenceRequest request;
  request.inputs.push_back({model.inputs[0].name, std::move(input)});
  if (source.top == 0) return request;
  const serve::TensorMetadata* const output = serve::classifying_output(model);
  if (output == nullptr)
    return make_error(Code::invalid_argument,
                      "model '" + model.name + "' does not classify: give 'top: 0' for its numbers");
  request.outputs = {output->name};
  return request;
}

Result<Verdict> verdict_of(const Question& question, const SourceOptions& source, const serve::ModelMetadata& model,
                           const serve::InferenceResponse& response) {
  nlohmann::ordered_json answer = {{"id", question.facts.id},
                                   {"source", question.facts.source},
                                   {"series", question.facts.series},
                                   {"model", model.name},
                                   {"version", response.version}};
  Verdict verdict;
  if (source.top == 0) {
    MG_TRY(answer["outputs"], values_of(response));
  } else {
    MG_TRY(const auto top, serve::ImageClassifier::top_classes(response, static_cast<std::size_t>(source.top)));
    if (top.empty()) return make_error(Code::internal, "the network has answered with something that is no number");
    verdict.is_undecided = top.front().probability < source.threshold;
    answer["top"] = nlohmann::ordered_json::array();
    for (const learn::RankedClass& one : top)
      answer["top"].push_back(
          {{"class", one.number}, {"label", serve::class_label(model, one.number)}, {"probability", one.probability}});
    if (source.threshold > 0) answer["undecided"] = verdict.is_undecided;
  }
  verdict.text = answer.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  return verdict;
}

Status check_fit(const SourceOptions& source, std::size_t rows, const serve::ModelMetadata& model) {
  if (source.window.length == 0) return {};
  const auto count = static_cast<std::int64_t>(rows) * source.window.length;
  if (numbers_of_sample(model) == count) return {};
  return Status(wrong_count(model, count))
      .context(fmt::format("{} of {} slots", rows == 1 ? "a window" : "joined windows", source.window.length));
}

}  // namespace mangrove::sensors
