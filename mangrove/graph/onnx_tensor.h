#pragma once

#include "mangrove/base/result.h"
#include "mangrove/base/units.h"
#include "mangrove/graph/onnx.pb.h"
#include "mangrove/tensor/tensor.h"

namespace mangrove {

/// The element type of ONNX's number (TensorProto.DataType); f32 for floats of 16 bits, whose values it holds.
/// errors: unimplemented, with ONNX's name of the type.
Result<DType> decode_dtype(std::int32_t data_type);
std::int32_t encode_dtype(DType dtype);
/// FLOAT16 or BFLOAT16.
bool is_sixteen_bit_float(std::int64_t data_type);
/// Bytes of an element as it is stored, not as Tensor has it. The type must be one that decode_dtype knows.
Bytes stored_size_of(const onnx::TensorProto& proto);

/// errors: as parse_onnx_tensor; the message does not name the tensor.
Result<Tensor> decode_tensor(const onnx::TensorProto& proto);
/// A tensor whose elements are elsewhere.
struct ExternalTensor {
  DType dtype;
  Shape shape;
  std::string location;
};
/// errors: data_loss (no location, an impossible size), unimplemented (a type that Tensor lacks).
Result<ExternalTensor> decode_external_tensor(const onnx::TensorProto& proto);
bool is_external(const onnx::TensorProto& proto);
void encode_external_tensor(const Tensor& tensor, const std::string& name, std::string location,
                            onnx::TensorProto& proto);

void encode_tensor(const Tensor& tensor, const std::string& name, onnx::TensorProto& proto);

}  // namespace mangrove
