#include "mangrove/serve/protocol/image_classifier.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "mangrove/data/image.h"
#include "mangrove/learn/preparation.h"

namespace mangrove::serve {
namespace {

constexpr std::size_t kMostKeptPreparations = 16;

std::vector<std::pair<std::string, ValueInfo>> input_infos(const ModelMetadata& model) {
  std::vector<std::pair<std::string, ValueInfo>> infos;
  for (const TensorMetadata& input : model.inputs)
    infos.emplace_back(input.name, ValueInfo{input.dtype, Shape(input.shape)});
  return infos;
}

/// errors: those of learn::check_takes_images(); also a network of a fixed batch of several.
Result<Shape> image_shape(const ModelMetadata& model) {
  MG_RETURN_IF_ERROR(learn::check_takes_images(input_infos(model), {}));
  const std::vector<std::int64_t>& shape = model.inputs.front().shape;
  if (shape[0] > 1)
    return make_error(Code::invalid_argument,
                      "the model takes images in batches of " + std::to_string(shape[0]) + ", not one alone");
  return Shape{shape[1], shape[2], shape[3]};
}

std::string preparation_key(const ModelMetadata& model, const Shape& sample) {
  std::string key = to_string(sample);
  for (const char* name : {learn::kAugmentationKey, learn::kDataKey, "mangrove.mean", "mangrove.std"}) {
    const auto found = model.properties.find(name);
    key += '\n' + (found == model.properties.end() ? std::string() : found->second);
  }
  return key;
}

}  // namespace

Result<ImageClassifier::Preparation> ImageClassifier::preparation(const ModelMetadata& model, const Shape& sample) {
  const std::string key = preparation_key(model, sample);
  {
    const MutexLock lock(mutex_);
    if (const auto kept = kept_.find(key); kept != kept_.end()) return kept->second;
  }
  MG_TRY(learn::ImagePreparation made, learn::image_preparation_of(model.properties, sample, data_folder_));
  MG_RETURN_IF_ERROR(learn::check_takes_images(input_infos(model), made));
  auto shared = std::make_shared<const learn::ImagePreparation>(std::move(made));
  const MutexLock lock(mutex_);
  if (kept_.size() >= kMostKeptPreparations) kept_.clear();
  kept_[key] = shared;
  return Preparation(std::move(shared));
}

Result<InferenceRequest> ImageClassifier::request(const ModelMetadata& model, std::string_view image) {
  const std::string where = "model '" + model.name + "'";
  MG_TRY(const Shape sample, image_shape(model).context(where));
  const TensorMetadata* const output = classifying_output(model);
  if (output == nullptr)
    return make_error(Code::invalid_argument, where + " does not classify: its answer is not f32 [N, classes]");
  MG_TRY(const Preparation chosen, preparation(model, sample).context(where));
  MG_TRY(data::Image decoded,
         data::decode_image({reinterpret_cast<const std::uint8_t*>(image.data()), image.size()}).context("the body"));
  Tensor input(DType::f32, Shape{1, sample[0], sample[1], sample[2]});
  learn::prepare_image(std::move(decoded), sample, *chosen, input.as<float>());
  InferenceRequest request;
  request.inputs.push_back({model.inputs.front().name, std::move(input)});
  request.outputs = {output->name};
  return request;
}

Result<std::vector<learn::RankedClass>> ImageClassifier::top_classes(const InferenceResponse& response,
                                                                     std::size_t count) {
  if (response.outputs.size() != 1 || response.outputs.front().tensor.dtype() != DType::f32)
    return make_error(Code::internal, "the model has answered with another output");
  return learn::top_classes(std::as_const(response.outputs.front().tensor).as<float>(), count);
}

const TensorMetadata* classifying_output(const ModelMetadata& model) {
  if (model.outputs.empty()) return nullptr;
  const TensorMetadata& first = model.outputs.front();
  const bool are_alike = std::ranges::all_of(model.outputs, [&](const TensorMetadata& output) {
    return output.dtype == first.dtype && output.shape == first.shape;
  });
  const TensorMetadata& output = are_alike ? model.outputs.back() : first;
  const bool classifies = output.dtype == DType::f32 && output.shape.size() == 2 && output.shape[1] > 1;
  return classifies ? &output : nullptr;
}

bool are_prepared_alike(const ModelMetadata& one, const ModelMetadata& other) {
  return preparation_key(one, Shape{}) == preparation_key(other, Shape{});
}

std::string class_label(const ModelMetadata& model, std::size_t number) {
  return number < model.labels.size() ? model.labels[number] : std::to_string(number);
}

}  // namespace mangrove::serve
