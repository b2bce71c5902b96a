#include "mangrove/serve/protocol/json_response.h"

#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "mangrove/base/json_dump.h"
#include "mangrove/serve/protocol/datatype.h"

namespace mangrove::serve {
namespace {

/// A text in quotes. What is not UTF-8 in it is replaced.
std::string quoted(const std::string& text) {
  return dump(nlohmann::json(text));
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

void append_output(const NamedTensor& output, bool binary, std::string& out) {
  const Tensor& tensor = output.tensor;
  out += R"({"name":)" + quoted(output.name) + R"(,"datatype":")" + datatype_name(tensor.dtype()) + R"(","shape":)" +
         nlohmann::json(tensor.shape().dims()).dump();
  if (binary) {
    out += R"(,"parameters":{"binary_data_size":)" + std::to_string(tensor.bytes()) + "}}";
    return;
  }
  out += R"(,"data":)";
  append_data(tensor, out);
  out += '}';
}

}  // namespace

JsonResponse write_json_response(const std::string& model, const std::string& id, const InferenceResponse& response,
                                 const BinaryOutputs& binary) {
  JsonResponse result;
  std::string& out = result.body;
  out = R"({"model_name":)" + quoted(model) + R"(,"model_version":)" + quoted(response.version);
  if (!id.empty()) out += R"(,"id":)" + quoted(id);
  out += R"(,"outputs":[)";
  for (const NamedTensor& output : response.outputs) {
    if (&output != &response.outputs.front()) out += ',';
    const bool is_binary = binary.is_binary(output.name);
    result.is_binary = result.is_binary || is_binary;
    append_output(output, is_binary, out);
  }
  out += "]}";
  result.json_bytes = out.size();
  for (const NamedTensor& output : response.outputs)
    if (binary.is_binary(output.name)) out += bytes_of(output.tensor);
  return result;
}

}  // namespace mangrove::serve
