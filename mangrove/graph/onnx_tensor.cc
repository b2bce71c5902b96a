#include "mangrove/graph/onnx_tensor.h"

#include <algorithm>
#include <bit>
#include <climits>
#include <cstdint>
#include <cstring>
#include <vector>

#include "mangrove/base/process_memory.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/tensor/sixteen_bits.h"

namespace mangrove {
namespace {

using onnx::TensorProto;

constexpr const char* kLocation = "location";  // ONNX's key of external data

static_assert(std::endian::native == std::endian::little, "raw_data is little-endian");

std::string type_name(std::int32_t data_type) {
  const bool known = TensorProto::DataType_IsValid(data_type);
  return known ? TensorProto::DataType_Name(static_cast<TensorProto::DataType>(data_type)) : std::to_string(data_type);
}

// Elements that raw_data or the typed field of this kind holds.
Result<std::size_t> elements_present(const TensorProto& proto, DType dtype) {
  const bool has_sixteen_bits = is_sixteen_bit_float(proto.data_type());
  if (proto.has_raw_data()) {
    const auto size = static_cast<std::size_t>(stored_size_of(proto));
    if (proto.raw_data().size() % size != 0) {
      return make_error(Code::data_loss, std::to_string(proto.raw_data().size()) +
                                             " bytes of data are no whole number of " +
                                             (has_sixteen_bits ? type_name(proto.data_type()) : dtype_name(dtype)));
    }
    return proto.raw_data().size() / size;
  }
  if (has_sixteen_bits) return static_cast<std::size_t>(proto.int32_data_size());
  switch (dtype) {
    case DType::f32:
      return static_cast<std::size_t>(proto.float_data_size());
    case DType::f64:
      return static_cast<std::size_t>(proto.double_data_size());
    case DType::i64:
      return static_cast<std::size_t>(proto.int64_data_size());
    case DType::i32:
    case DType::u8:
    case DType::i8:
    case DType::boolean:
      return static_cast<std::size_t>(proto.int32_data_size());
  }
  return std::size_t{0};
}

// At most 2^40 elements, so that no number of bytes overflows.
Result<Shape> possible_shape(const TensorProto& proto) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  constexpr int kMostDims = 64;
  if (proto.dims_size() > kMostDims)
    return make_error(Code::data_loss,
                      std::to_string(proto.dims_size()) + " dimensions, the most is " + std::to_string(kMostDims));
  const Shape shape(std::vector<std::int64_t>(proto.dims().begin(), proto.dims().end()));
  std::int64_t bound = 1;  // the product with 1 for 0, so that no partial product overflows either
  for (const std::int64_t dim : shape) {
    if (dim < 0 || (dim > 0 && bound > kMost / dim)) {
      return make_error(Code::data_loss, "impossible shape " + to_string(shape));
    }
    bound *= std::max<std::int64_t>(dim, 1);
  }
  return shape;
}

// The dimensions must hold exactly the elements that are there; nothing is allocated before that is known.
Result<Shape> checked_shape(const TensorProto& proto, std::size_t present) {
  MG_TRY(Shape shape, possible_shape(proto));
  const auto expected = static_cast<std::size_t>(shape.elements());
  if (expected != present) {
    return make_error(Code::data_loss, "shape " + to_string(shape) + " needs " + std::to_string(expected) +
                                           " elements, found " + std::to_string(present));
  }
  return shape;
}

Status copy_bytes_from_ints(const TensorProto& proto, Tensor& tensor) {
  for (int i = 0; i < proto.int32_data_size(); ++i) {
    const std::int32_t value = proto.int32_data(i);
    const bool is_signed = tensor.dtype() == DType::i8;
    if (value < (is_signed ? -128 : 0) || value > (is_signed ? 127 : 255)) {
      return make_error(Code::data_loss, "element " + std::to_string(value) + " does not fit into a byte");
    }
    tensor.data()[i] = static_cast<std::byte>(value);
  }
  return {};
}

// Each in an integer, or two bytes of raw_data.
Status widen_elements(const TensorProto& proto, Tensor& tensor) {
  const auto widened = proto.data_type() == TensorProto::FLOAT16 ? from_float16 : from_bfloat16;
  const auto elements = tensor.as<float>();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    std::uint16_t bits = 0;
    if (proto.has_raw_data()) {
      std::memcpy(&bits, proto.raw_data().data() + i * sizeof bits, sizeof bits);
    } else {
      const std::int32_t value = proto.int32_data(static_cast<int>(i));
      if (value < 0 || value > 0xffff)
        return make_error(Code::data_loss, "element " + std::to_string(value) + " does not fit into 16 bits");
      bits = static_cast<std::uint16_t>(value);
    }
    elements[i] = widened(bits);
  }
  return {};
}

template <class Field>
void copy_field(const Field& field, Tensor& tensor) {
  if (!field.empty()) std::memcpy(tensor.data(), field.data(), static_cast<std::size_t>(tensor.bytes()));
}

Status copy_elements(const TensorProto& proto, Tensor& tensor) {
  if (is_sixteen_bit_float(proto.data_type())) return widen_elements(proto, tensor);
  if (proto.has_raw_data()) {
    copy_field(proto.raw_data(), tensor);
    return {};
  }
  switch (tensor.dtype()) {
    case DType::f32:
      copy_field(proto.float_data(), tensor);
      break;
    case DType::f64:
      copy_field(proto.double_data(), tensor);
      break;
    case DType::i64:
      copy_field(proto.int64_data(), tensor);
      break;
    case DType::i32:
      copy_field(proto.int32_data(), tensor);
      break;
    case DType::u8:
    case DType::i8:
    case DType::boolean:
      return copy_bytes_from_ints(proto, tensor);
  }
  return {};
}

// A C++ bool must be 0 or 1 in memory.
void normalise_booleans(Tensor& tensor) {
  if (tensor.dtype() != DType::boolean) return;
  std::byte* const data = tensor.data();
  std::transform(data, data + tensor.bytes(), data, [](std::byte b) { return std::byte{b != std::byte{0}}; });
}

}  // namespace

bool is_sixteen_bit_float(std::int64_t data_type) {
  return data_type == TensorProto::FLOAT16 || data_type == TensorProto::BFLOAT16;
}

Bytes stored_size_of(const TensorProto& proto) {
  if (is_sixteen_bit_float(proto.data_type())) return sizeof(std::uint16_t);
  return static_cast<Bytes>(size_of(decode_dtype(proto.data_type()).value()));
}

Result<DType> decode_dtype(std::int32_t data_type) {
  switch (data_type) {
    case TensorProto::FLOAT:
    case TensorProto::FLOAT16:
    case TensorProto::BFLOAT16:
      return DType::f32;
    case TensorProto::DOUBLE:
      return DType::f64;
    case TensorProto::INT32:
      return DType::i32;
    case TensorProto::INT64:
      return DType::i64;
    case TensorProto::UINT8:
      return DType::u8;
    case TensorProto::INT8:
      return DType::i8;
    case TensorProto::BOOL:
      return DType::boolean;
    default:
      return make_error(
          Code::unimplemented,
          "element type " + type_name(data_type) +
              " is not supported; FLOAT, DOUBLE, FLOAT16, BFLOAT16, INT32, INT64, UINT8, INT8 and BOOL are");
  }
}

std::int32_t encode_dtype(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return TensorProto::FLOAT;
    case DType::f64:
      return TensorProto::DOUBLE;
    case DType::i32:
      return TensorProto::INT32;
    case DType::i64:
      return TensorProto::INT64;
    case DType::u8:
      return TensorProto::UINT8;
    case DType::i8:
      return TensorProto::INT8;
    case DType::boolean:
      return TensorProto::BOOL;
  }
  return TensorProto::UNDEFINED;
}

Result<Tensor> decode_tensor(const TensorProto& proto) {
  if (is_external(proto)) {
    return make_error(Code::unimplemented,
                      "data in a separate file (external data) is not supported here, only for initializers of a model "
                      "that is read from a file");
  }
  MG_TRY(const DType dtype, decode_dtype(proto.data_type()));
  MG_TRY(const std::size_t present, elements_present(proto, dtype));
  MG_TRY(Shape shape, checked_shape(proto, present));
  Tensor tensor(dtype, std::move(shape));
  take_pages({tensor.data(), static_cast<std::size_t>(tensor.bytes())});
  MG_RETURN_IF_ERROR(copy_elements(proto, tensor));
  normalise_booleans(tensor);
  return tensor;
}

bool is_external(const TensorProto& proto) {
  return proto.data_location() == TensorProto::EXTERNAL || proto.external_data_size() > 0;
}

Result<ExternalTensor> decode_external_tensor(const TensorProto& proto) {
  MG_TRY(const DType dtype, decode_dtype(proto.data_type()));
  MG_TRY(Shape shape, possible_shape(proto));
  for (const auto& entry : proto.external_data())
    if (entry.key() == kLocation) return ExternalTensor{dtype, std::move(shape), entry.value()};
  return make_error(Code::data_loss, "external data without a location");
}

void encode_external_tensor(const Tensor& tensor, const std::string& name, std::string location, TensorProto& proto) {
  for (const std::int64_t dim : tensor.shape()) proto.add_dims(dim);
  proto.set_data_type(encode_dtype(tensor.dtype()));
  proto.set_name(name);
  proto.set_data_location(TensorProto::EXTERNAL);
  auto& entry = *proto.add_external_data();
  entry.set_key(kLocation);
  entry.set_value(std::move(location));
}

void encode_tensor(const Tensor& tensor, const std::string& name, TensorProto& proto) {
  for (const std::int64_t dim : tensor.shape()) proto.add_dims(dim);
  proto.set_data_type(encode_dtype(tensor.dtype()));
  if (!name.empty()) proto.set_name(name);
  proto.set_raw_data(tensor.data(), static_cast<std::size_t>(tensor.bytes()));
}

Result<Tensor> parse_onnx_tensor(std::string_view bytes) {
  TensorProto proto;
  if (bytes.empty() || bytes.size() > INT_MAX || !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return make_error(Code::data_loss, "not a tensor in ONNX's format, or truncated");
  }
  return decode_tensor(proto).context("tensor '" + proto.name() + "'");
}

}  // namespace mangrove
