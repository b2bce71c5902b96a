#pragma once

#include "mangrove/base/result.h"
#include "mangrove/graph/onnx.pb.h"
#include "mangrove/tensor/tensor.h"

namespace mangrove {

/// The element type of ONNX's number (TensorProto.DataType). errors: unimplemented, with ONNX's name of the type.
Result<DType> decode_dtype(std::int32_t data_type);
std::int32_t encode_dtype(DType dtype);

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
