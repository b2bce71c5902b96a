#include "mangrove/graph/conv_geometry.h"
#include "mangrove/graph/matmul_geometry.h"
#include "mangrove/graph/operators/rows.h"
#include "mangrove/graph/operators/rules.h"

namespace mangrove::rows {
namespace {

using Kind = Operator::AttributeKind;

bool is_byte(const ValueInfo& info) {
  return info.dtype == DType::u8 || info.dtype == DType::i8;
}

Error wrong_type(std::size_t position, const ValueInfo& found, const std::string& expected) {
  return make_error(Code::invalid_argument, "input " + std::to_string(position) + " has type " +
                                                dtype_name(found.dtype) + ", expected " + expected);
}

Status check_bytes(const OperatorInputs& inputs, std::initializer_list<std::size_t> positions) {
  for (const std::size_t position : positions) {
    const ValueInfo* info = optional_input(inputs, position);
    if (info != nullptr && !is_byte(*info)) return wrong_type(position, *info, "u8 or i8");
  }
  return {};
}

Status check_type(const OperatorInputs& inputs, std::size_t position, DType dtype) {
  const ValueInfo* info = optional_input(inputs, position);
  if (info == nullptr || info->dtype == dtype) return {};
  return wrong_type(position, *info, dtype_name(dtype));
}

// A scale or zero point: one for all, or a vector with one for each of `channels`. channels 0: one for all only.
Status check_per_channel(const OperatorInputs& inputs, std::size_t position, std::int64_t channels) {
  const ValueInfo* info = optional_input(inputs, position);
  if (info == nullptr) return {};
  const Shape& shape = info->shape;
  if (shape.rank() == 0 || shape == Shape{1} || (channels > 0 && shape == Shape{channels})) return {};
  return make_error(Code::invalid_argument, "input " + std::to_string(position) + " has shape " + to_string(shape) +
                                                ", expected a scalar" +
                                                (channels > 0 ? " or [" + std::to_string(channels) + "]" : ""));
}

// Channels along the axis that the scales of QuantizeLinear and DequantizeLinear go by.
Result<std::int64_t> channels_of(const Node& node, const Shape& shape) {
  const auto rank = static_cast<std::int64_t>(shape.rank());
  const std::int64_t axis = node.int_or("axis", 1);
  if (rank == 0 || (rank == 1 && axis == 1)) return std::int64_t{0};  // the default axis of what has none
  if (axis < -rank || axis >= rank) {
    return make_error(Code::invalid_argument,
                      "attribute axis is " + std::to_string(axis) + ", input has shape " + to_string(shape));
  }
  return shape[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)];
}

Result<std::vector<ValueInfo>> infer_quantize(const Node& node, const OperatorInputs& inputs) {
  const ValueInfo& x = *inputs.values[0];
  if (x.dtype != DType::f32 && x.dtype != DType::i32) return wrong_type(0, x, "f32 or i32");
  MG_RETURN_IF_ERROR(check_type(inputs, 1, DType::f32));
  MG_RETURN_IF_ERROR(check_bytes(inputs, {2}));
  MG_TRY(const std::int64_t channels, channels_of(node, x.shape));
  for (const std::size_t position : {1u, 2u}) MG_RETURN_IF_ERROR(check_per_channel(inputs, position, channels));
  const ValueInfo* zero_point = optional_input(inputs, 2);
  return std::vector<ValueInfo>{{zero_point != nullptr ? zero_point->dtype : DType::u8, x.shape}};
}

Result<std::vector<ValueInfo>> infer_dequantize(const Node& node, const OperatorInputs& inputs) {
  const ValueInfo& x = *inputs.values[0];
  if (!is_byte(x) && x.dtype != DType::i32) return wrong_type(0, x, "u8, i8 or i32");
  MG_RETURN_IF_ERROR(check_type(inputs, 1, DType::f32));
  MG_RETURN_IF_ERROR(check_type(inputs, 2, x.dtype));
  MG_TRY(const std::int64_t channels, channels_of(node, x.shape));
  for (const std::size_t position : {1u, 2u}) MG_RETURN_IF_ERROR(check_per_channel(inputs, position, channels));
  return std::vector<ValueInfo>{{DType::f32, x.shape}};
}

Result<std::vector<ValueInfo>> infer_dynamic(const Node&, const OperatorInputs& inputs) {
  MG_RETURN_IF_ERROR(check_type(inputs, 0, DType::f32));
  return std::vector<ValueInfo>{{DType::u8, inputs.values[0]->shape}, {DType::f32, Shape()}, {DType::u8, Shape()}};
}

Result<std::vector<ValueInfo>> infer_conv_integer(const Node& node, const OperatorInputs& inputs) {
  MG_RETURN_IF_ERROR(check_bytes(inputs, {0, 1, 2, 3}));
  MG_TRY(const ConvGeometry geometry, conv_geometry(node, inputs.values[0]->shape, inputs.values[1]->shape));
  MG_RETURN_IF_ERROR(check_type(inputs, 2, inputs.values[0]->dtype));
  MG_RETURN_IF_ERROR(check_type(inputs, 3, inputs.values[1]->dtype));
  MG_RETURN_IF_ERROR(check_per_channel(inputs, 2, 0));
  MG_RETURN_IF_ERROR(check_per_channel(inputs, 3, geometry.output_channels));
  return std::vector<ValueInfo>{{DType::i32, geometry.output_shape()}};
}

Result<std::vector<ValueInfo>> infer_qlinear_conv(const Node& node, const OperatorInputs& inputs) {
  MG_RETURN_IF_ERROR(check_bytes(inputs, {0, 2, 3, 5, 7}));
  MG_TRY(const ConvGeometry geometry, conv_geometry(node, inputs.values[0]->shape, inputs.values[3]->shape));
  MG_RETURN_IF_ERROR(check_type(inputs, 2, inputs.values[0]->dtype));
  MG_RETURN_IF_ERROR(check_type(inputs, 5, inputs.values[3]->dtype));
  for (const std::size_t scale : {1u, 4u, 6u}) MG_RETURN_IF_ERROR(check_type(inputs, scale, DType::f32));
  for (const std::size_t scalar : {1u, 2u, 6u, 7u}) MG_RETURN_IF_ERROR(check_per_channel(inputs, scalar, 0));
  for (const std::size_t of_weights : {4u, 5u}) {
    MG_RETURN_IF_ERROR(check_per_channel(inputs, of_weights, geometry.output_channels));
  }
  MG_RETURN_IF_ERROR(check_type(inputs, 8, DType::i32));
  if (const ValueInfo* bias = optional_input(inputs, 8);
      bias != nullptr && bias->shape != Shape{geometry.output_channels}) {
    return make_error(Code::invalid_argument, "bias (input 8) has shape " + to_string(bias->shape) + ", expected [" +
                                                  std::to_string(geometry.output_channels) + "]");
  }
  return std::vector<ValueInfo>{{inputs.values[7]->dtype, geometry.output_shape()}};
}

Result<std::vector<ValueInfo>> infer_matmul_integer(const Node&, const OperatorInputs& inputs) {
  MG_RETURN_IF_ERROR(check_bytes(inputs, {0, 1, 2, 3}));
  MG_RETURN_IF_ERROR(check_type(inputs, 2, inputs.values[0]->dtype));
  MG_RETURN_IF_ERROR(check_type(inputs, 3, inputs.values[1]->dtype));
  for (const std::size_t zero_point : {2u, 3u}) MG_RETURN_IF_ERROR(check_per_channel(inputs, zero_point, 0));
  MG_TRY(MatMulGeometry geometry, matmul_geometry(inputs.values[0]->shape, inputs.values[1]->shape));
  return std::vector<ValueInfo>{{DType::i32, std::move(geometry.output)}};
}

Result<std::vector<ValueInfo>> infer_qlinear_matmul(const Node&, const OperatorInputs& inputs) {
  MG_RETURN_IF_ERROR(check_bytes(inputs, {0, 2, 3, 5, 7}));
  MG_RETURN_IF_ERROR(check_type(inputs, 2, inputs.values[0]->dtype));
  MG_RETURN_IF_ERROR(check_type(inputs, 5, inputs.values[3]->dtype));
  for (const std::size_t scale : {1u, 4u, 6u}) MG_RETURN_IF_ERROR(check_type(inputs, scale, DType::f32));
  for (const std::size_t scalar : {1u, 2u, 4u, 5u, 6u, 7u}) MG_RETURN_IF_ERROR(check_per_channel(inputs, scalar, 0));
  MG_TRY(MatMulGeometry geometry, matmul_geometry(inputs.values[0]->shape, inputs.values[3]->shape));
  return std::vector<ValueInfo>{{inputs.values[7]->dtype, std::move(geometry.output)}};
}

OperatorCost elementwise(const Node&, const OperatorInputs& inputs, std::span<const ValueInfo> outputs) {
  return elementwise_cost(inputs, outputs, 3);
}

// Products of a convolution whose weights are this input.
template <std::size_t weights>
OperatorCost conv_cost(const Node&, const OperatorInputs& inputs, std::span<const ValueInfo> outputs) {
  const Shape& shape = inputs.values[weights]->shape;
  return elementwise_cost(inputs, outputs, 2 * static_cast<double>(shape.elements(1, shape.rank())));
}

OperatorCost matmul_cost(const Node&, const OperatorInputs& inputs, std::span<const ValueInfo> outputs) {
  const Shape& a = inputs.values[0]->shape;
  return elementwise_cost(inputs, outputs, 2 * static_cast<double>(a[a.rank() - 1]));
}

std::vector<Operator::AttributeRule> conv_attributes() {
  return {{"auto_pad", Kind::string},       {"dilations", Kind::integers}, {"group", Kind::integer},
          {"kernel_shape", Kind::integers}, {"pads", Kind::integers},      {"strides", Kind::integers}};
}

Operator integer_operator(std::string_view type, std::size_t min_inputs, std::size_t max_inputs,
                          decltype(Operator::infer) infer, decltype(Operator::cost) cost) {
  return {.type = type,
          .min_inputs = min_inputs,
          .max_inputs = max_inputs,
          .min_outputs = 1,
          .max_outputs = 1,
          .attributes = {},
          .parameters = {},
          .differentiable = false,
          .mixes_samples = true,
          .infer = std::move(infer),
          .cost = std::move(cost)};
}

/// QuantizeLinear: y = saturate(round(x / scale) + zero point), halves to even; scales for all or by `axis`.
Operator quantize_linear() {
  Operator row = integer_operator("QuantizeLinear", 2, 3, infer_quantize, elementwise);
  row.attributes = {{"axis", Kind::integer}};
  return row;
}

/// DequantizeLinear: y = (x - zero point) scale.
Operator dequantize_linear() {
  Operator row = integer_operator("DequantizeLinear", 2, 3, infer_dequantize, elementwise);
  row.attributes = {{"axis", Kind::integer}};
  return row;
}

/// DynamicQuantizeLinear: x as u8 with the scale and zero point (outputs 1, 2) that its range, widened to hold 0, asks
/// for.
Operator dynamic_quantize_linear() {
  Operator row = integer_operator("DynamicQuantizeLinear", 1, 1, infer_dynamic, elementwise);
  row.max_outputs = 3;
  return row;
}

/// QLinearConv: Conv of x and w after DequantizeLinear of both, quantized again; i32 bias of scale x_scale w_scale.
Operator qlinear_conv() {
  Operator row = integer_operator("QLinearConv", 8, 9, infer_qlinear_conv, conv_cost<3>);
  row.attributes = conv_attributes();
  return row;
}

/// ConvInteger: Conv of x - x zero point and w - w zero point in i32.
Operator conv_integer() {
  Operator row = integer_operator("ConvInteger", 2, 4, infer_conv_integer, conv_cost<1>);
  row.attributes = conv_attributes();
  return row;
}

/// QLinearMatMul: MatMul after DequantizeLinear of both, quantized again.
Operator qlinear_matmul() {
  return integer_operator("QLinearMatMul", 8, 8, infer_qlinear_matmul, matmul_cost);
}

/// MatMulInteger: MatMul of a - a zero point and b - b zero point in i32.
Operator matmul_integer() {
  return integer_operator("MatMulInteger", 2, 4, infer_matmul_integer, matmul_cost);
}

}  // namespace

std::vector<Operator> quantization() {
  return {quantize_linear(), dequantize_linear(), dynamic_quantize_linear(), qlinear_conv(),
          conv_integer(),    qlinear_matmul(),    matmul_integer()};
}

}  // namespace mangrove::rows
