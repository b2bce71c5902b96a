#include "mangrove/serve/client/answer_reader.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "mangrove/base/parse_number.h"
#include "mangrove/base/printable.h"
#include "mangrove/serve/protocol/datatype.h"
#include "mangrove/serve/protocol/json_tensor.h"
#include "mangrove/serve/protocol/json_tree.h"

namespace mangrove::serve {
namespace {

using nlohmann::json;

constexpr std::size_t kMostTensors = 256;
constexpr std::size_t kLongestShownName = 128, kLongestShownError = 512;

Error no_answer(const std::string& what) {
  return make_error(Code::data_loss, "the server's answer makes no sense: " + what);
}

std::string shown_name(const std::string& name) {
  return "'" + printable(cut_short(name, kLongestShownName)) + "'";
}

/// tensors: the list whose members have elements.
Result<JsonTree> parse_answer(std::string_view body, const char* tensors = "") {
  Result<JsonTree> tree = parse_json_tree(body, {.tensors = tensors});
  if (!tree.ok()) return no_answer(tree.error().message);
  return tree;
}

Result<std::string> text_of(const json& object, const char* key) {
  if (!object.is_object()) return no_answer(std::string("it has something that is no object, where '") + key + "' is");
  Result<std::string> text = text_member(object, key);
  if (!text.ok()) return no_answer(text.error().message);
  return text;
}

Result<const json*> list_of(const json& object, const char* key) {
  const json* const list = object.is_object() ? json_member(object, key) : nullptr;
  if (list == nullptr || !list->is_array()) return no_answer(std::string("it has no list '") + key + "'");
  return list;
}

/// -1: any size.
Result<std::vector<std::int64_t>> dimensions_of(const json& tensor, const std::string& name) {
  MG_TRY(const json* list, list_of(tensor, "shape"));
  std::vector<std::int64_t> shape;
  for (const json& size : *list) {
    const bool is_number = size.is_number_integer() &&
                           (!size.is_number_unsigned() || size.get<std::uint64_t>() <= std::uint64_t{INT64_MAX});
    if (!is_number || size.get<std::int64_t>() < -1 || size.get<std::int64_t>() == 0)
      return no_answer("the shape of " + shown_name(name) + " has something that is no size");
    shape.push_back(size.get<std::int64_t>());
  }
  return shape;
}

/// Whether there can be a tensor of this shape, with one sample.
Status check_one_sample(const TensorMetadata& tensor) {
  std::vector<std::int64_t> shape = tensor.shape;
  std::ranges::replace(shape, -1, 1);
  const Result<std::int64_t> elements = count_elements(shape);
  if (!elements.ok()) return no_answer(shown_name(tensor.name) + ": " + elements.error().message);
  return {};
}

Result<std::vector<TensorMetadata>> tensors_of(const json& root, const char* key) {
  MG_TRY(const json* list, list_of(root, key));
  if (list->size() > kMostTensors) return no_answer(std::string("it has too many '") + key + "'");
  std::vector<TensorMetadata> tensors;
  for (const json& one : *list) {
    TensorMetadata tensor;
    MG_TRY(tensor.name, text_of(one, "name"));
    MG_TRY(const std::string datatype, text_of(one, "datatype"));
    MG_TRY(tensor.dtype, parse_datatype(datatype).context("the model's " + shown_name(tensor.name)));
    MG_TRY(tensor.shape, dimensions_of(one, tensor.name));
    MG_RETURN_IF_ERROR(check_one_sample(tensor));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

/// How long the JSON of the body is.
Result<std::size_t> length_of(const std::optional<std::string>& header, std::size_t body) {
  if (!header) return body;
  const auto length = parse_whole_number(*header, 0, std::numeric_limits<std::int64_t>::max());
  if (length.ok() && static_cast<std::uint64_t>(*length) <= body) return static_cast<std::size_t>(*length);
  return no_answer("its header Inference-Header-Content-Length does not fit its body");
}

Status check_output(const TensorMetadata& expected, std::int64_t samples, const NamedTensor& found) {
  std::vector<std::int64_t> shape = expected.shape;
  if (!shape.empty() && shape.front() == -1) shape.front() = samples;
  const std::vector<std::int64_t>& other = found.tensor.shape().dims();
  const bool is_like = std::ranges::equal(shape, other, [](auto a, auto b) { return a == -1 || a == b; });
  if (found.tensor.dtype() == expected.dtype && is_like) return {};
  return no_answer("output " + shown_name(found.name) + " is " + datatype_name(found.tensor.dtype()) + " " +
                   to_string(found.tensor.shape()) + ", expected " + datatype_name(expected.dtype) + " " +
                   to_string(Shape(shape)));
}

}  // namespace

bool ServerDescription::offers(std::string_view extension) const {
  return std::ranges::find(extensions, extension) != extensions.end();
}

Result<ServerDescription> read_server(std::string_view body) {
  MG_TRY(const JsonTree tree, parse_answer(body));
  ServerDescription server;
  MG_TRY(server.name, text_of(tree.root, "name"));
  MG_TRY(server.version, text_of(tree.root, "version"));
  const json* const extensions = json_member(tree.root, "extensions");
  if (extensions == nullptr || !extensions->is_array()) return server;
  for (const json& one : *extensions)
    if (one.is_string()) server.extensions.push_back(one.get<std::string>());
  return server;
}

Result<ModelMetadata> read_metadata(std::string_view body) {
  MG_TRY(const JsonTree tree, parse_answer(body));
  ModelMetadata model;
  MG_TRY(model.name, text_of(tree.root, "name"));
  const json* const platform = json_member(tree.root, "platform");
  if (platform != nullptr && platform->is_string()) model.platform = platform->get<std::string>();
  const json* const versions = json_member(tree.root, "versions");
  if (versions != nullptr && versions->is_array() && !versions->empty() && versions->back().is_string())
    model.version = versions->back().get<std::string>();
  MG_TRY(model.inputs, tensors_of(tree.root, "inputs"));
  MG_TRY(model.outputs, tensors_of(tree.root, "outputs"));
  return model;
}

Result<std::map<std::string, std::string>> read_properties(std::string_view body) {
  MG_TRY(const JsonTree tree, parse_answer(body));
  std::map<std::string, std::string> properties;
  const json* const parameters = tree.root.is_object() ? json_member(tree.root, "parameters") : nullptr;
  if (parameters == nullptr || !parameters->is_object()) return properties;
  for (const auto& [name, value] : parameters->items()) {
    const json* const text = value.is_object() ? json_member(value, "string_value") : nullptr;
    if (text != nullptr && text->is_string()) properties[name] = text->get<std::string>();
  }
  return properties;
}

Result<std::vector<std::string>> read_models(std::string_view body, bool only_ready) {
  MG_TRY(const JsonTree tree, parse_answer(body));
  if (!tree.root.is_array()) return no_answer("the index of models is no list");
  std::vector<std::string> names;
  for (const json& one : tree.root) {
    MG_TRY(std::string name, text_of(one, "name"));
    const json* const state = json_member(one, "state");
    const bool counts = !only_ready || (state != nullptr && *state == "READY");
    if (counts && std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

Result<InferenceResponse> read_outputs(const ModelMetadata& model, std::int64_t samples, std::string_view body,
                                       const std::optional<std::string>& json_length) {
  MG_TRY(const std::size_t length, length_of(json_length, body.size()));
  MG_TRY(const JsonTree tree, parse_answer(body.substr(0, length), "outputs"));
  InferenceResponse response;
  const json* const version = tree.root.is_object() ? json_member(tree.root, "model_version") : nullptr;
  if (version != nullptr && version->is_string()) response.version = version->get<std::string>();
  MG_TRY(const json* list, list_of(tree.root, "outputs"));
  if (list->size() != model.outputs.size())
    return no_answer("it has " + std::to_string(list->size()) + " outputs, and the model has " +
                     std::to_string(model.outputs.size()));
  BinaryParts binary(body.substr(length), json_length.has_value());
  for (std::size_t i = 0; i < list->size(); ++i) {
    NamedTensor output;
    MG_TRY(output.name, text_of((*list)[i], "name"));
    if (output.name != model.outputs[i].name)
      return no_answer("an output " + shown_name(output.name) + " where " + shown_name(model.outputs[i].name) +
                       " was expected");
    Result<Tensor> tensor = json_tensor((*list)[i], tree, binary);
    if (!tensor.ok()) return no_answer("output " + shown_name(output.name) + ": " + tensor.error().message);
    output.tensor = std::move(*tensor);
    MG_RETURN_IF_ERROR(check_output(model.outputs[i], samples, output));
    response.outputs.push_back(std::move(output));
  }
  if (binary.left() > 0) return no_answer("bytes come behind its outputs");
  return response;
}

std::string read_error(std::string_view body) {
  std::string message(body);
  const Result<JsonTree> tree = parse_json_tree(body);
  if (tree.ok() && tree->root.is_object()) {
    const Result<std::string> told = text_member(tree->root, "error");
    if (told.ok()) message = *told;
  }
  return printable(cut_short(message, kLongestShownError));
}

}  // namespace mangrove::serve
