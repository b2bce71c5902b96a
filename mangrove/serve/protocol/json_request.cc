#include "mangrove/serve/protocol/json_request.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "mangrove/base/printable.h"
#include "mangrove/serve/protocol/datatype.h"
#include "mangrove/serve/protocol/json_tree.h"
#include "mangrove/serve/protocol/request_parameters.h"

namespace mangrove::serve {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestId = 1024;

Error malformed(const std::string& what) {
  return make_error(Code::invalid_argument, what);
}

const json* member(const json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

Result<std::string> text_member(const json& object, const char* key) {
  const json* const value = member(object, key);
  if (value == nullptr) return malformed(std::string("it has no '") + key + "'");
  if (!value->is_string()) return malformed(std::string("its '") + key + "' is no text");
  return value->get<std::string>();
}

std::optional<ParameterValue> parameter_value(const json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{INT64_MAX}) return value.get<double>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number_float()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  return std::string();  // lists and objects are parameters of nothing that is served
}

/// The parameters of a request, an input or an output. They live as long as `object`.
Result<FindParameter> parameters_of(const json& object) {
  const json* const all = member(object, "parameters");
  if (all == nullptr) return FindParameter([](const std::string&) { return std::nullopt; });
  if (!all->is_object()) return malformed("its 'parameters' are no object");
  return FindParameter([all](const std::string& name) -> std::optional<ParameterValue> {
    const auto found = all->find(name);
    if (found == all->end()) return std::nullopt;
    return parameter_value(*found);
  });
}

Result<std::optional<bool>> boolean_parameter(const FindParameter& find, const std::string& name) {
  const std::optional<ParameterValue> value = find(name);
  if (!value) return std::optional<bool>();
  if (!std::holds_alternative<bool>(*value)) return malformed("parameter '" + name + "' is neither true nor false");
  return std::optional<bool>(std::get<bool>(*value));
}

Result<std::vector<std::int64_t>> shape_of(const json& input) {
  const json* const list = member(input, "shape");
  if (list == nullptr) return malformed("it has no 'shape'");
  std::vector<std::int64_t> shape;
  const bool is_list = list->is_array() && std::ranges::all_of(*list, [](const json& size) {
                         return size.is_number_integer() &&
                                (!size.is_number_unsigned() || size.get<std::uint64_t>() <= std::uint64_t{INT64_MAX});
                       });
  if (!is_list) return malformed("its 'shape' is no list of whole numbers");
  for (const json& size : *list) shape.push_back(size.get<std::int64_t>());
  return shape;
}

/// Takes the bytes of binary inputs one after the other from behind the JSON.
class BinaryInputs {
 public:
  BinaryInputs(std::string_view bytes, bool is_there) : rest_(bytes), is_there_(is_there) {}

  Result<std::string_view> take(const ParameterValue& size) {
    const auto* const bytes = std::get_if<std::int64_t>(&size);
    if (bytes == nullptr || *bytes < 0) return malformed("parameter 'binary_data_size' is no number of bytes");
    if (!is_there_)
      return malformed("it has 'binary_data_size', and the request no header Inference-Header-Content-Length");
    if (static_cast<std::uint64_t>(*bytes) > rest_.size())
      return malformed("parameter 'binary_data_size' is " + std::to_string(*bytes) + ", but the body has only " +
                       std::to_string(rest_.size()) + " bytes more");
    const std::string_view taken = rest_.substr(0, static_cast<std::size_t>(*bytes));
    rest_.remove_prefix(taken.size());
    return taken;
  }
  std::size_t left() const { return rest_.size(); }

 private:
  std::string_view rest_;
  bool is_there_;
};

Result<Tensor> tensor_of(const json& input, const JsonTree& tree, BinaryInputs& binary) {
  MG_TRY(const std::string datatype, text_member(input, "datatype"));
  MG_TRY(const DType dtype, parse_datatype(datatype));
  MG_TRY(const std::vector<std::int64_t> shape, shape_of(input));
  MG_TRY(const FindParameter find, parameters_of(input));
  MG_RETURN_IF_ERROR(check_tensor_parameters(find));
  const json* const data = member(input, "data");
  const std::optional<ParameterValue> size = find("binary_data_size");
  if (size && data != nullptr) return malformed("it has both 'data' and 'binary_data_size'");
  if (size) {
    MG_TRY(const std::string_view bytes, binary.take(*size));
    return tensor_of_bytes(dtype, shape, bytes);
  }
  if (data == nullptr) return malformed("it has neither 'data' nor 'binary_data_size'");
  return tree.elements[data->get<std::size_t>()].tensor(dtype, shape);
}

std::string input_place(std::size_t number, const std::string& name) {
  return name.empty() ? "inputs[" + std::to_string(number) + "]" : "input '" + cut_short(name, 64) + "'";
}

Status take_inputs(const JsonTree& tree, BinaryInputs& binary, InferenceRequest& request) {
  const json* const list = member(tree.root, "inputs");
  if (list == nullptr) return malformed("the request has no 'inputs'");
  if (!list->is_array()) return malformed("'inputs' is no list");
  for (std::size_t i = 0; i < list->size(); ++i) {
    const json& input = (*list)[i];
    if (!input.is_object()) return malformed(input_place(i, "") + " is no object");
    MG_TRY(std::string name, text_member(input, "name").context(input_place(i, "")));
    MG_TRY(Tensor tensor, tensor_of(input, tree, binary).context(input_place(i, name)));
    request.inputs.push_back({std::move(name), std::move(tensor)});
  }
  return {};
}

Status take_output(const json& output, JsonRequest& result) {
  if (!output.is_object()) return malformed("it is no object");
  MG_TRY(std::string name, text_member(output, "name"));
  MG_TRY(const FindParameter find, parameters_of(output));
  MG_RETURN_IF_ERROR(check_tensor_parameters(find));
  MG_TRY(const std::optional<bool> binary, boolean_parameter(find, "binary_data"));
  if (binary) result.binary.chosen.emplace_back(name, *binary);
  result.request.outputs.push_back(std::move(name));
  return {};
}

Status take_outputs(const json& root, JsonRequest& result) {
  const json* const list = member(root, "outputs");
  if (list == nullptr) return {};
  if (!list->is_array()) return malformed("'outputs' is no list");
  for (std::size_t i = 0; i < list->size(); ++i)
    MG_RETURN_IF_ERROR(take_output((*list)[i], result).context("outputs[" + std::to_string(i) + "]"));
  return {};
}

Status take_id(const json& root, InferenceRequest& request) {
  if (member(root, "id") == nullptr) return {};
  MG_TRY(request.id, text_member(root, "id").context("the request"));
  if (request.id.size() > kLongestId)
    return malformed("the request's 'id' is longer than " + std::to_string(kLongestId) + " bytes");
  return {};
}

}  // namespace

bool BinaryOutputs::is_binary(const std::string& output) const {
  const auto found = std::ranges::find(chosen, output, &std::pair<std::string, bool>::first);
  return found == chosen.end() ? all : found->second;
}

Result<JsonRequest> parse_json_request(std::string_view body, std::optional<std::size_t> json_bytes, Instant now) {
  const std::size_t length = json_bytes.value_or(body.size());
  if (length > body.size())
    return malformed("Inference-Header-Content-Length is " + std::to_string(length) + ", but the body has " +
                     std::to_string(body.size()) + " bytes");
  MG_TRY(const JsonTree tree, parse_json_tree(body.substr(0, length)));
  if (!tree.root.is_object()) return malformed("the JSON of a request is an object");
  JsonRequest result;
  MG_RETURN_IF_ERROR(take_id(tree.root, result.request));
  MG_TRY(const FindParameter find, parameters_of(tree.root).context("the request"));
  MG_RETURN_IF_ERROR(take_parameters(find, now, result.request));
  MG_TRY(const std::optional<bool> all_binary, boolean_parameter(find, "binary_data_output"));
  result.binary.all = all_binary.value_or(false);
  BinaryInputs binary(body.substr(length), json_bytes.has_value());
  MG_RETURN_IF_ERROR(take_inputs(tree, binary, result.request));
  if (binary.left() > 0)
    return malformed("the body has " + std::to_string(binary.left()) + " bytes that belong to no input");
  MG_RETURN_IF_ERROR(take_outputs(tree.root, result));
  return result;
}

}  // namespace mangrove::serve
