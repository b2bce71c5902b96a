#include "mangrove/serve/protocol/json_tensor.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <type_traits>

#include "mangrove/base/json_dump.h"
#include "mangrove/serve/protocol/datatype.h"

namespace mangrove::serve {
namespace {

using nlohmann::json;

Error wrong_tensor(const std::string& what) {
  return make_error(Code::invalid_argument, what);
}

std::optional<ParameterValue> parameter_value(const json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{INT64_MAX}) return value.get<double>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number_float()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  return std::string();  // lists and objects are parameters of nothing that is served
}

Result<std::vector<std::int64_t>> shape_of(const json& input) {
  const json* const list = json_member(input, "shape");
  if (list == nullptr) return wrong_tensor("it has no 'shape'");
  std::vector<std::int64_t> shape;
  const bool is_list = list->is_array() && std::ranges::all_of(*list, [](const json& size) {
                         return size.is_number_integer() &&
                                (!size.is_number_unsigned() || size.get<std::uint64_t>() <= std::uint64_t{INT64_MAX});
                       });
  if (!is_list) return wrong_tensor("its 'shape' is no list of whole numbers");
  for (const json& size : *list) shape.push_back(size.get<std::int64_t>());
  return shape;
}

/// The shortest text that is read as the same number again; of real numbers, with a point or an exponent.
template <class T>
void append_number(T value, std::string& out) {
  if constexpr (std::is_same_v<T, bool>) {
    out += value ? "true" : "false";
  } else {
    std::array<char, 32> text;
    if constexpr (std::is_floating_point_v<T>) {
      if (!std::isfinite(value)) {
        out += "null";
        return;
      }
    }
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    const std::string_view written(text.data(), static_cast<std::size_t>(end - text.data()));
    out += written;
    if (std::is_floating_point_v<T> && written.find_first_of(".e") == std::string_view::npos) out += ".0";
  }
}

template <class T>
void append_elements(const Tensor& tensor, std::string& out) {
  const char* between = "[";
  for (const T element : tensor.as<T>()) {
    out += between;
    append_number(element, out);
    between = ",";
  }
  out += tensor.elements() == 0 ? "[]" : "]";
}

void append_data(const Tensor& tensor, std::string& out) {
  switch (tensor.dtype()) {
    case DType::f32:
      return append_elements<float>(tensor, out);
    case DType::f64:
      return append_elements<double>(tensor, out);
    case DType::i32:
      return append_elements<std::int32_t>(tensor, out);
    case DType::i64:
      return append_elements<std::int64_t>(tensor, out);
    case DType::u8:
      return append_elements<std::uint8_t>(tensor, out);
    case DType::i8:
      return append_elements<std::int8_t>(tensor, out);
    case DType::boolean:
      return append_elements<bool>(tensor, out);
  }
}

}  // namespace

const json* json_member(const json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

Result<std::string> text_member(const json& object, const char* key) {
  const json* const value = json_member(object, key);
  if (value == nullptr) return wrong_tensor(std::string("it has no '") + key + "'");
  if (!value->is_string()) return wrong_tensor(std::string("its '") + key + "' is no text");
  return value->get<std::string>();
}

Result<FindParameter> json_parameters(const json& object) {
  const json* const all = json_member(object, "parameters");
  if (all == nullptr) return FindParameter([](const std::string&) { return std::nullopt; });
  if (!all->is_object()) return wrong_tensor("its 'parameters' are no object");
  return FindParameter([all](const std::string& name) -> std::optional<ParameterValue> {
    const auto found = all->find(name);
    if (found == all->end()) return std::nullopt;
    return parameter_value(*found);
  });
}

Result<std::string_view> BinaryParts::take(const ParameterValue& size) {
  const auto* const bytes = std::get_if<std::int64_t>(&size);
  if (bytes == nullptr || *bytes < 0) return wrong_tensor("parameter 'binary_data_size' is no number of bytes");
  if (!is_there_)
    return wrong_tensor("it has 'binary_data_size', and the message no header Inference-Header-Content-Length");
  if (static_cast<std::uint64_t>(*bytes) > rest_.size())
    return wrong_tensor("parameter 'binary_data_size' is " + std::to_string(*bytes) + ", but the body has only " +
                        std::to_string(rest_.size()) + " bytes more");
  const std::string_view taken = rest_.substr(0, static_cast<std::size_t>(*bytes));
  rest_.remove_prefix(taken.size());
  return taken;
}

Result<Tensor> json_tensor(const json& input, const JsonTree& tree, BinaryParts& binary) {
  MG_TRY(const std::string datatype, text_member(input, "datatype"));
  MG_TRY(const DType dtype, parse_datatype(datatype));
  MG_TRY(const std::vector<std::int64_t> shape, shape_of(input));
  MG_TRY(const FindParameter find, json_parameters(input));
  MG_RETURN_IF_ERROR(check_tensor_parameters(find));
  const json* const data = json_member(input, "data");
  const std::optional<ParameterValue> size = find("binary_data_size");
  if (size && data != nullptr) return wrong_tensor("it has both 'data' and 'binary_data_size'");
  if (size) {
    MG_TRY(const std::string_view bytes, binary.take(*size));
    return tensor_of_bytes(dtype, shape, bytes);
  }
  if (data == nullptr) return wrong_tensor("it has neither 'data' nor 'binary_data_size'");
  return tree.elements[data->get<std::size_t>()].tensor(dtype, shape);
}

std::string json_text(const std::string& text) {
  return dump(json(text));
}

void append_json_tensor(const NamedTensor& named, bool binary, std::string& out) {
  const Tensor& tensor = named.tensor;
  out += R"({"name":)" + json_text(named.name) + R"(,"datatype":")" + datatype_name(tensor.dtype()) + R"(","shape":)" +
         nlohmann::json(tensor.shape().dims()).dump();
  if (binary) {
    out += R"(,"parameters":{"binary_data_size":)" + std::to_string(tensor.bytes()) + "}}";
    return;
  }
  out += R"(,"data":)";
  append_data(tensor, out);
  out += '}';
}

}  // namespace mangrove::serve
