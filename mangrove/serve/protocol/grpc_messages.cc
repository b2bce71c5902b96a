#include "mangrove/serve/protocol/grpc_messages.h"

#include <limits>
#include <type_traits>
#include <utility>

#include "mangrove/base/printable.h"
#include "mangrove/serve/protocol/datatype.h"
#include "mangrove/serve/protocol/request_parameters.h"
#include "mangrove/serve/protocol/server_facts.h"

namespace mangrove::serve {
namespace {

using Parameters = google::protobuf::Map<std::string, inference::InferParameter>;

/// They live as long as the message.
FindParameter find_in(const Parameters& parameters) {
  return [&parameters](const std::string& name) -> std::optional<ParameterValue> {
    const auto found = parameters.find(name);
    if (found == parameters.end()) return std::nullopt;
    const inference::InferParameter& value = found->second;
    switch (value.parameter_choice_case()) {
      case inference::InferParameter::kBoolParam:
        return value.bool_param();
      case inference::InferParameter::kInt64Param:
        return value.int64_param();
      case inference::InferParameter::kUint64Param:
        if (value.uint64_param() > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
          return static_cast<double>(value.uint64_param());
        return static_cast<std::int64_t>(value.uint64_param());
      case inference::InferParameter::kDoubleParam:
        return value.double_param();
      default:
        return value.string_param();
    }
  };
}

Error other_number(std::int64_t found, std::int64_t expected) {
  return make_error(Code::invalid_argument, "its contents have " + std::to_string(found) +
                                                " elements; its shape takes " + std::to_string(expected));
}

/// A tensor from the elements in the field for its type.
template <class T, class Field>
Result<Tensor> tensor_of_field(DType dtype, const std::vector<std::int64_t>& shape, const Field& field) {
  MG_TRY(const std::int64_t elements, count_elements(shape));
  if (field.size() != elements) return other_number(field.size(), elements);
  Tensor tensor(dtype, Shape(shape));
  const std::span<T> out = tensor.as<T>();
  for (int i = 0; i < field.size(); ++i) {
    const auto value = field.Get(i);
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      if (!std::in_range<T>(value))
        return make_error(Code::invalid_argument,
                          "its contents have " + std::to_string(value) + ", which is no " + datatype_name(dtype));
    }
    out[static_cast<std::size_t>(i)] = static_cast<T>(value);
  }
  return tensor;
}

Result<Tensor> tensor_of_contents(DType dtype, const std::vector<std::int64_t>& shape,
                                  const inference::InferTensorContents& contents) {
  switch (dtype) {
    case DType::f32:
      return tensor_of_field<float>(dtype, shape, contents.fp32_contents());
    case DType::f64:
      return tensor_of_field<double>(dtype, shape, contents.fp64_contents());
    case DType::i32:
      return tensor_of_field<std::int32_t>(dtype, shape, contents.int_contents());
    case DType::i64:
      return tensor_of_field<std::int64_t>(dtype, shape, contents.int64_contents());
    case DType::u8:
      return tensor_of_field<std::uint8_t>(dtype, shape, contents.uint_contents());
    case DType::i8:
      return tensor_of_field<std::int8_t>(dtype, shape, contents.int_contents());
    case DType::boolean:
      return tensor_of_field<bool>(dtype, shape, contents.bool_contents());
  }
  return make_error(Code::internal, "a type without a field");
}

/// raw: null where the request has no raw contents.
Result<Tensor> tensor_of_input(const inference::ModelInferRequest::InferInputTensor& input, const std::string* raw) {
  MG_TRY(const DType dtype, parse_datatype(input.datatype()));
  MG_RETURN_IF_ERROR(check_tensor_parameters(find_in(input.parameters())));
  const std::vector<std::int64_t> shape(input.shape().begin(), input.shape().end());
  if (raw == nullptr) return tensor_of_contents(dtype, shape, input.contents());
  if (input.has_contents())
    return make_error(Code::invalid_argument, "it has contents, and the request has raw_input_contents too");
  return tensor_of_bytes(dtype, shape, *raw);
}

Status take_grpc_inputs(const inference::ModelInferRequest& message, InferenceRequest& request) {
  const int raw = message.raw_input_contents_size();
  if (raw > 0 && raw != message.inputs_size())
    return make_error(Code::invalid_argument, "the request has " + std::to_string(message.inputs_size()) +
                                                  " inputs and " + std::to_string(raw) + " raw_input_contents");
  for (int i = 0; i < message.inputs_size(); ++i) {
    const auto& input = message.inputs(i);
    MG_TRY(Tensor tensor, tensor_of_input(input, raw > 0 ? &message.raw_input_contents(i) : nullptr)
                              .context("input '" + printable(cut_short(input.name(), 64)) + "'"));
    request.inputs.push_back({input.name(), std::move(tensor)});
  }
  return {};
}

void write_duration(const DurationCount& duration, inference::StatisticDuration& message) {
  message.set_count(duration.count);
  message.set_ns(duration.nanoseconds);
}

template <class Message>
void write_tensor(const TensorMetadata& tensor, Message& message) {
  message.set_name(tensor.name);
  message.set_datatype(datatype_name(tensor.dtype));
  message.mutable_shape()->Add(tensor.shape.begin(), tensor.shape.end());
}

template <class Message>
void write_configured(const ModelMetadata& model, const TensorMetadata& tensor, Message& message) {
  message.set_name(tensor.name);
  inference::DataType type = inference::TYPE_INVALID;
  inference::DataType_Parse(configuration_type(tensor.dtype), &type);
  message.set_data_type(type);
  for (const std::int64_t size : configuration_dims(model, tensor)) message.add_dims(size);
}

}  // namespace

Result<InferenceRequest> request_of(const inference::ModelInferRequest& message, Instant now) {
  InferenceRequest request;
  request.id = message.id();
  MG_RETURN_IF_ERROR(take_parameters(find_in(message.parameters()), now, request));
  MG_RETURN_IF_ERROR(take_grpc_inputs(message, request));
  for (const auto& output : message.outputs()) {
    MG_RETURN_IF_ERROR(check_tensor_parameters(find_in(output.parameters()))
                           .context("output '" + printable(cut_short(output.name(), 64)) + "'"));
    request.outputs.push_back(output.name());
  }
  return request;
}

void write_response(const InferenceResponse& response, const std::string& model, const std::string& id,
                    inference::ModelInferResponse& message) {
  message.set_model_name(model);
  message.set_model_version(response.version);
  message.set_id(id);
  for (const NamedTensor& output : response.outputs) {
    auto& to = *message.add_outputs();
    to.set_name(output.name);
    to.set_datatype(datatype_name(output.tensor.dtype()));
    for (const std::int64_t size : output.tensor.shape()) to.add_shape(size);
    message.add_raw_output_contents(std::string(bytes_of(output.tensor)));
  }
}

void write_metadata(const ModelMetadata& model, const std::vector<std::string>& versions,
                    inference::ModelMetadataResponse& message) {
  message.set_name(model.name);
  message.mutable_versions()->Add(versions.begin(), versions.end());
  message.set_platform(model.platform);
  for (const TensorMetadata& input : model.inputs) write_tensor(input, *message.add_inputs());
  for (const TensorMetadata& output : model.outputs) write_tensor(output, *message.add_outputs());
}

void write_configuration(const ModelMetadata& model, inference::ModelConfig& message) {
  message.set_name(model.name);
  message.set_platform(model.platform);
  message.set_backend(kServerTitle);
  message.set_max_batch_size(static_cast<std::int32_t>(configuration_batch(model)));
  for (const TensorMetadata& input : model.inputs) write_configured(model, input, *message.add_input());
  for (const TensorMetadata& output : model.outputs) write_configured(model, output, *message.add_output());
  for (const auto& [name, value] : model.properties) (*message.mutable_parameters())[name].set_string_value(value);
}

void write_statistics(const Model& model, inference::ModelStatistics& message) {
  const ModelStatistics statistics = model.statistics();
  message.set_name(model.metadata().name);
  message.set_version(model.metadata().version);
  message.set_last_inference(statistics.last_inference);
  message.set_inference_count(statistics.inferences);
  message.set_execution_count(statistics.executions);
  auto& stats = *message.mutable_inference_stats();
  write_duration(statistics.success, *stats.mutable_success());
  write_duration(statistics.fail, *stats.mutable_fail());
  write_duration(statistics.queue, *stats.mutable_queue());
  write_duration(statistics.compute_input, *stats.mutable_compute_input());
  write_duration(statistics.compute_infer, *stats.mutable_compute_infer());
  write_duration(statistics.compute_output, *stats.mutable_compute_output());
  for (const auto& [size, batch] : statistics.batches) {
    auto& to = *message.add_batch_stats();
    to.set_batch_size(static_cast<std::uint64_t>(size));
    write_duration(batch.compute_input, *to.mutable_compute_input());
    write_duration(batch.compute_infer, *to.mutable_compute_infer());
    write_duration(batch.compute_output, *to.mutable_compute_output());
  }
}

void write_index(const std::vector<IndexEntry>& index, bool only_ready, inference::RepositoryIndexResponse& message) {
  for (const IndexEntry& entry : index) {
    if (only_ready && entry.state != "READY") continue;
    auto& to = *message.add_models();
    to.set_name(entry.name);
    to.set_version(entry.version);
    to.set_state(entry.state);
    to.set_reason(entry.reason);
  }
}

}  // namespace mangrove::serve
