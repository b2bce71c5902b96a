#include "mangrove/serve/protocol/json_request.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "mangrove/base/printable.h"
#include "mangrove/serve/protocol/json_tensor.h"
#include "mangrove/serve/protocol/json_tree.h"
#include "mangrove/serve/protocol/request_parameters.h"

namespace mangrove::serve {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestId = 1024;

Error malformed(const std::string& what) {
  return make_error(Code::invalid_argument, what);
}

Result<std::optional<bool>> boolean_parameter(const FindParameter& find, const std::string& name) {
  const std::optional<ParameterValue> value = find(name);
  if (!value) return std::optional<bool>();
  if (!std::holds_alternative<bool>(*value)) return malformed("parameter '" + name + "' is neither true nor false");
  return std::optional<bool>(std::get<bool>(*value));
}

std::string input_place(std::size_t number, const std::string& name) {
  return name.empty() ? "inputs[" + std::to_string(number) + "]" : "input '" + cut_short(name, 64) + "'";
}

Status take_inputs(const JsonTree& tree, BinaryParts& binary, InferenceRequest& request) {
  const json* const list = json_member(tree.root, "inputs");
  if (list == nullptr) return malformed("the request has no 'inputs'");
  if (!list->is_array()) return malformed("'inputs' is no list");
  for (std::size_t i = 0; i < list->size(); ++i) {
    const json& input = (*list)[i];
    if (!input.is_object()) return malformed(input_place(i, "") + " is no object");
    MG_TRY(std::string name, text_member(input, "name").context(input_place(i, "")));
    MG_TRY(Tensor tensor, json_tensor(input, tree, binary).context(input_place(i, name)));
    request.inputs.push_back({std::move(name), std::move(tensor)});
  }
  return {};
}

Status take_output(const json& output, JsonRequest& result) {
  if (!output.is_object()) return malformed("it is no object");
  MG_TRY(std::string name, text_member(output, "name"));
  MG_TRY(const FindParameter find, json_parameters(output));
  MG_RETURN_IF_ERROR(check_tensor_parameters(find));
  MG_TRY(const std::optional<bool> binary, boolean_parameter(find, "binary_data"));
  if (binary) result.binary.chosen.emplace_back(name, *binary);
  result.request.outputs.push_back(std::move(name));
  return {};
}

Status take_outputs(const json& root, JsonRequest& result) {
  const json* const list = json_member(root, "outputs");
  if (list == nullptr) return {};
  if (!list->is_array()) return malformed("'outputs' is no list");
  for (std::size_t i = 0; i < list->size(); ++i)
    MG_RETURN_IF_ERROR(take_output((*list)[i], result).context("outputs[" + std::to_string(i) + "]"));
  return {};
}

Status take_id(const json& root, InferenceRequest& request) {
  if (json_member(root, "id") == nullptr) return {};
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
  MG_TRY(const FindParameter find, json_parameters(tree.root).context("the request"));
  MG_RETURN_IF_ERROR(take_parameters(find, now, result.request));
  MG_TRY(const std::optional<bool> all_binary, boolean_parameter(find, "binary_data_output"));
  result.binary.all = all_binary.value_or(false);
  BinaryParts binary(body.substr(length), json_bytes.has_value());
  MG_RETURN_IF_ERROR(take_inputs(tree, binary, result.request));
  if (binary.left() > 0)
    return malformed("the body has " + std::to_string(binary.left()) + " bytes that belong to no input");
  MG_RETURN_IF_ERROR(take_outputs(tree.root, result));
  return result;
}

}  // namespace mangrove::serve
