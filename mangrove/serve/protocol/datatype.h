#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/tensor/tensor.h"

namespace mangrove::serve {

/// "FP32", "INT64", ...: what the Open Inference Protocol calls the type.
const char* datatype_name(DType dtype);

/// errors: unimplemented (a type of the protocol that no tensor here has: BYTES, FP16, ...), invalid_argument (no type
/// of the protocol; names those that are served).
Result<DType> parse_datatype(std::string_view name);

/// The elements of a tensor of a request. Takes no memory.
/// errors: invalid_argument (a dimension below 1, more than 16 of them, more elements than can be counted).
Result<std::int64_t> count_elements(const std::vector<std::int64_t>& shape);

/// A tensor from its elements, little-endian and one behind the other. Takes memory only when the bytes fit the shape.
/// errors: those of count_elements(); invalid_argument (another number of bytes; says how many were
/// expected; a BOOL that is neither 0 nor 1).
Result<Tensor> tensor_of_bytes(DType dtype, const std::vector<std::int64_t>& shape, std::string_view bytes);

/// The elements of a tensor, little-endian and one behind the other. Lives as long as the tensor.
std::string_view bytes_of(const Tensor& tensor);

}  // namespace mangrove::serve
