#include "mangrove/tensor/safetensors.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "mangrove/base/json_dump.h"

namespace mangrove {
namespace {

using nlohmann::json;

constexpr std::pair<DType, const char*> dtype_codes[] = {
    {DType::f32, "F32"}, {DType::f64, "F64"}, {DType::i32, "I32"},     {DType::i64, "I64"},
    {DType::u8, "U8"},   {DType::i8, "I8"},   {DType::boolean, "BOOL"}};
constexpr std::size_t length_bytes = 8;
constexpr std::uint64_t kMaxDimension = std::uint64_t{1} << 40;

Error corrupt(const std::string& what) {
  return make_error(Code::data_loss, "safetensors: " + what);
}

const char* dtype_code(DType dtype) {
  for (const auto& [type, code] : dtype_codes)
    if (type == dtype) return code;
  return "?";
}

/// Whether a tensor of this shape has exactly so many elements; no product overflows.
bool has_elements(const std::vector<std::int64_t>& shape, std::size_t elements) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return elements == 0;
  std::size_t left = elements;
  for (const std::int64_t dim : shape) {
    const auto size = static_cast<std::size_t>(dim);
    if (left % size != 0) return false;
    left /= size;
  }
  return left == 1;
}

/// One entry of the header; `data` is the part of the file after the header.
Result<Tensor> parse_entry(const std::string& name, const json& entry, std::string_view data,
                           std::pair<std::size_t, std::size_t>& range) {
  if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") || !entry.contains("data_offsets"))
    return corrupt("tensor '" + name + "' lacks dtype, shape or data_offsets");
  const json &dtype = entry["dtype"], &dims = entry["shape"], &offsets = entry["data_offsets"];
  if (!dtype.is_string() || !dims.is_array() || !offsets.is_array() || offsets.size() != 2 ||
      !offsets[0].is_number_unsigned() || !offsets[1].is_number_unsigned())
    return corrupt("tensor '" + name + "' has a malformed header entry");
  const auto code = std::find_if(std::begin(dtype_codes), std::end(dtype_codes),
                                 [&](const auto& c) { return dtype.get_ref<const std::string&>() == c.second; });
  if (code == std::end(dtype_codes))
    return make_error(Code::unimplemented, "safetensors: tensor '" + name + "' has unsupported dtype " + dump(dtype));
  range = {offsets[0].get<std::size_t>(), offsets[1].get<std::size_t>()};
  if (range.first > range.second || range.second > data.size())
    return corrupt("tensor '" + name + "' lies outside the file, which may be truncated");
  std::vector<std::int64_t> shape;
  for (const json& dim : dims) {
    if (!dim.is_number_unsigned() || dim.get<std::uint64_t>() > kMaxDimension)
      return corrupt("tensor '" + name + "' has a malformed shape");
    shape.push_back(dim.get<std::int64_t>());
  }
  if (!has_elements(shape, (range.second - range.first) / size_of(code->first)) ||
      (range.second - range.first) % size_of(code->first) != 0)
    return corrupt("tensor '" + name + "' has a shape that does not fit its data");
  Tensor tensor(code->first, Shape(std::move(shape)));
  std::copy_n(data.data() + range.first, range.second - range.first, reinterpret_cast<char*>(tensor.data()));
  return tensor;
}

}  // namespace

std::string encode_safetensors(const TensorFile& file) {
  json header = json::object();
  if (!file.metadata.empty()) header["__metadata__"] = file.metadata;
  std::size_t offset = 0;
  for (const auto& [name, tensor] : file.tensors) {
    const auto bytes = static_cast<std::size_t>(tensor.bytes());
    header[name] = {{"dtype", dtype_code(tensor.dtype())},
                    {"shape", tensor.shape().dims()},
                    {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  std::string text = dump(header);
  text.append((8 - text.size() % 8) % 8, ' ');  // the format asks that the data starts aligned
  std::string out;
  out.reserve(length_bytes + text.size() + offset);
  for (std::size_t i = 0; i < length_bytes; ++i) out += static_cast<char>((text.size() >> (8 * i)) & 0xff);
  out += text;
  for (const auto& [name, tensor] : file.tensors)
    out.append(reinterpret_cast<const char*>(tensor.data()), static_cast<std::size_t>(tensor.bytes()));
  return out;
}

Result<TensorFile> parse_safetensors(std::string_view bytes) {
  if (bytes.size() < length_bytes) return corrupt("file is shorter than its 8-byte header length");
  std::uint64_t length = 0;
  for (std::size_t i = length_bytes; i-- > 0;) length = length << 8 | static_cast<unsigned char>(bytes[i]);
  if (length > bytes.size() - length_bytes) return corrupt("header is longer than the file, which may be truncated");
  const std::string_view text = bytes.substr(length_bytes, length), data = bytes.substr(length_bytes + length);
  const json header = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!header.is_object()) return corrupt("header is not a JSON object");
  TensorFile file;
  std::vector<std::pair<std::size_t, std::size_t>> ranges;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      if (!entry.is_object()) return corrupt("__metadata__ is not an object");
      for (const auto& [key, value] : entry.items()) {
        if (!value.is_string()) return corrupt("metadata '" + key + "' is not a string");
        file.metadata[key] = value.get<std::string>();
      }
      continue;
    }
    std::pair<std::size_t, std::size_t> range;
    MG_TRY(Tensor tensor, parse_entry(name, entry, data, range));
    ranges.push_back(range);
    file.tensors.emplace(name, std::move(tensor));
  }
  std::sort(ranges.begin(), ranges.end());
  std::size_t covered = 0;
  for (const auto& [first, last] : ranges) {
    if (first != covered) return corrupt("tensors overlap or leave a hole");
    covered = last;
  }
  if (covered != data.size()) return corrupt("data after the last tensor");
  return file;
}

}  // namespace mangrove
