#include "mangrove/serve/request_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "mangrove/base/printable.h"
#include "mangrove/base/table.h"

namespace mangrove::serve {
namespace {

constexpr std::size_t kLongestName = 256;  // bytes, in a message

std::string shown_briefly(const std::string& text) {
  return printable(cut_short(text, kLongestName));
}

Error does_not_fit(const std::string& what) {
  return make_error(Code::invalid_argument, what);
}

/// The position of a name among the model's inputs or outputs.
Result<std::size_t> position_of(const std::vector<TensorMetadata>& tensors, const std::string& name, const char* kind) {
  const auto found = std::ranges::find(tensors, name, &TensorMetadata::name);
  if (found != tensors.end()) return static_cast<std::size_t>(found - tensors.begin());
  const std::string cut = shown_briefly(name);
  return does_not_fit(fmt::format("unknown {} '{}'{}", kind, cut, suggestion(cut, row_names(tensors))));
}

bool fits_shape(const Shape& found, const Shape& expected) {
  if (found.rank() != expected.rank()) return false;
  for (std::size_t i = 0; i < found.rank(); ++i)
    if (expected[i] != kBatch && found[i] != expected[i]) return false;
  return true;
}

Status check_booleans(const std::string& name, const Tensor& tensor) {
  if (tensor.dtype() != DType::boolean) return {};
  const std::span<const std::byte> bytes(tensor.data(), static_cast<std::size_t>(tensor.bytes()));
  const auto bad = std::ranges::find_if(bytes, [](std::byte byte) { return std::to_integer<int>(byte) > 1; });
  if (bad == bytes.end()) return {};
  return does_not_fit(fmt::format("element {} of input '{}' is {}, expected 0 or 1", bad - bytes.begin(), name,
                                  std::to_integer<int>(*bad)));
}

Status check_tensor(const TensorMetadata& expected, const Tensor& found) {
  const Shape shape(expected.shape);
  if (found.dtype() == expected.dtype && fits_shape(found.shape(), shape)) return check_booleans(expected.name, found);
  return does_not_fit(fmt::format("input '{}' is {} {}, expected {} {}", expected.name, dtype_name(found.dtype()),
                                  shown_briefly(to_string(found.shape())), dtype_name(expected.dtype),
                                  to_string(shape)));
}

/// How many samples all inputs have.
Result<std::int64_t> count_samples(const ModelMetadata& model, const std::vector<Tensor>& inputs) {
  const TensorMetadata* counted = nullptr;
  std::int64_t samples = 1;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorMetadata& input = model.inputs[i];
    const std::optional<std::size_t> axis = Shape(input.shape).batch_axis();
    if (!axis) continue;
    const std::int64_t here = inputs[i].shape()[*axis];
    if (here < 1) return does_not_fit(fmt::format("input '{}' has no samples, expected 1 or more", input.name));
    if (counted != nullptr && here != samples)
      return does_not_fit(fmt::format("input '{}' has {} samples, input '{}' has {}; expected as many", input.name,
                                      here, counted->name, samples));
    counted = &input;
    samples = here;
  }
  return samples;
}

Result<std::vector<Tensor>> inputs_in_order(const ModelMetadata& model, const InferenceRequest& request) {
  std::vector<std::optional<Tensor>> given(model.inputs.size());
  for (const NamedTensor& input : request.inputs) {
    MG_TRY(const std::size_t at, position_of(model.inputs, input.name, "input"));
    if (given[at]) return does_not_fit(fmt::format("input '{}' is given twice", model.inputs[at].name));
    MG_RETURN_IF_ERROR(check_tensor(model.inputs[at], input.tensor));
    given[at] = input.tensor;
  }
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!given[i])
      return does_not_fit(fmt::format("input '{}' is missing; its inputs: {}", model.inputs[i].name,
                                      join_words(row_names(model.inputs))));
    inputs.push_back(*given[i]);
  }
  return inputs;
}

Result<std::vector<std::size_t>> wanted_outputs(const ModelMetadata& model, const InferenceRequest& request) {
  std::vector<std::size_t> wanted;
  for (const std::string& name : request.outputs) {
    MG_TRY(const std::size_t at, position_of(model.outputs, name, "output"));
    if (std::ranges::count(wanted, at) > 0)
      return does_not_fit(fmt::format("output '{}' is wanted twice", model.outputs[at].name));
    wanted.push_back(at);
  }
  if (!request.outputs.empty()) return wanted;
  for (std::size_t i = 0; i < model.outputs.size(); ++i) wanted.push_back(i);
  return wanted;
}

}  // namespace

Result<CheckedRequest> check_request(const ModelMetadata& model, const InferenceRequest& request) {
  CheckedRequest checked;
  MG_TRY(checked.inputs, inputs_in_order(model, request));
  MG_TRY(checked.samples, count_samples(model, checked.inputs));
  MG_TRY(checked.outputs, wanted_outputs(model, request));
  return checked;
}

}  // namespace mangrove::serve
