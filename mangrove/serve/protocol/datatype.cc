#include "mangrove/serve/protocol/datatype.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "mangrove/base/table.h"

namespace mangrove::serve {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors travel as they lie in memory");

constexpr std::size_t kMostDimensions = 16;

struct Datatype {
  const char* name;
  DType dtype;
};
constexpr std::array kDatatypes = {Datatype{"BOOL", DType::boolean}, Datatype{"UINT8", DType::u8},
                                   Datatype{"INT8", DType::i8},      Datatype{"INT32", DType::i32},
                                   Datatype{"INT64", DType::i64},    Datatype{"FP32", DType::f32},
                                   Datatype{"FP64", DType::f64}};
constexpr std::array kNotServed = {"BYTES", "FP16", "BF16", "INT16", "UINT16", "UINT32", "UINT64"};

std::string served_names() {
  return join_words(row_names(kDatatypes));
}

}  // namespace

const char* datatype_name(DType dtype) {
  return std::ranges::find(kDatatypes, dtype, &Datatype::dtype)->name;
}

Result<DType> parse_datatype(std::string_view name) {
  for (const Datatype& row : kDatatypes)
    if (name == row.name) return row.dtype;
  for (const char* known : kNotServed)
    if (name == known)
      return make_error(Code::unimplemented,
                        "tensors of datatype " + std::string(name) + " are not served; there are " + served_names());
  return make_error(Code::invalid_argument,
                    "datatype '" + std::string(name) + "' is not known; there are " + served_names());
}

Result<std::int64_t> count_elements(const std::vector<std::int64_t>& shape) {
  if (shape.size() > kMostDimensions)
    return make_error(Code::invalid_argument, "its shape has " + std::to_string(shape.size()) +
                                                  " dimensions; at most " + std::to_string(kMostDimensions));
  std::int64_t elements = 1;
  for (const std::int64_t size : shape) {
    if (size < 1)
      return make_error(Code::invalid_argument,
                        "its shape has a dimension of " + std::to_string(size) + "; expected 1 or more");
    if (__builtin_mul_overflow(elements, size, &elements))
      return make_error(Code::invalid_argument, "its shape has more elements than can be counted");
  }
  return elements;
}

Result<Tensor> tensor_of_bytes(DType dtype, const std::vector<std::int64_t>& shape, std::string_view bytes) {
  MG_TRY(const std::int64_t elements, count_elements(shape));
  const std::size_t size = size_of(dtype);
  // the number of elements is compared, since that of the bytes may not be countable
  if (bytes.size() % size != 0 || bytes.size() / size != static_cast<std::size_t>(elements))
    return make_error(Code::invalid_argument, "it has " + std::to_string(bytes.size()) + " bytes; its shape " +
                                                  to_string(Shape(shape)) + " of " + datatype_name(dtype) + " takes " +
                                                  std::to_string(elements) + " x " + std::to_string(size));
  // any other value would be no bool in C++
  if (dtype == DType::boolean && std::ranges::any_of(bytes, [](char byte) { return byte != 0 && byte != 1; }))
    return make_error(Code::invalid_argument, "it has a BOOL that is neither 0 nor 1");
  Tensor tensor(dtype, Shape(shape));
  if (!bytes.empty()) std::memcpy(tensor.data(), bytes.data(), bytes.size());
  return tensor;
}

std::string_view bytes_of(const Tensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.data()), static_cast<std::size_t>(tensor.bytes())};
}

}  // namespace mangrove::serve
