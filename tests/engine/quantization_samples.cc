#include "tests/engine/operator_samples.h"

namespace mangrove::samples {
namespace {

using Ints = std::vector<std::int64_t>;

SampleInput scalar(float value) {
  return constant(Tensor::of<float>(Shape(), {value}));
}
SampleInput zero_point(std::uint8_t value) {
  return constant(Tensor::of<std::uint8_t>(Shape(), {value}));
}
SampleInput signed_zero_point(std::int8_t value) {
  return constant(Tensor::of<std::int8_t>(Shape(), {value}));
}
SampleInput bytes(Shape shape) {
  return fed_type(DType::u8, std::move(shape), 0, 255);
}
SampleInput signed_bytes(Shape shape) {
  return fed_type(DType::i8, std::move(shape), -128, 127);
}

}  // namespace

std::vector<OperatorSample> quantization() {
  const SampleInput image = bytes({kBatch, 4, 6, 5});
  const SampleInput scales = constant(Tensor::of<float>(Shape{3}, {0.5f, 0.01f, 2}));
  const std::map<std::string, Attribute> padded{{"pads", Ints{1, 0, 2, 1}}, {"strides", Ints{2, 1}}};
  const std::map<std::string, Attribute> grouped{{"group", std::int64_t{2}}};
  return {
      {"QuantizeLinear_u8",
       "QuantizeLinear",
       {fed_type(DType::f32, {kBatch, 3, 4}, -3, 3), scalar(0.02f), zero_point(128)}},
      {"QuantizeLinear_channels", "QuantizeLinear", {fed_type(DType::f32, {kBatch, 3, 4}, -90, 90), scales}},
      {"DequantizeLinear_u8", "DequantizeLinear", {bytes({kBatch, 3, 4}), scalar(0.02f), zero_point(100)}},
      {"DequantizeLinear_i32",
       "DequantizeLinear",
       {fed_type(DType::i32, {kBatch, 3, 4}, -900, 900), scalar(0.02f),
        constant(Tensor::of<std::int32_t>(Shape(), {7}))}},
      {"DequantizeLinear_channels", "DequantizeLinear", {signed_bytes({kBatch, 3, 4}), scales}},
      {"DequantizeLinear_last",
       "DequantizeLinear",
       {signed_bytes({kBatch, 4, 3}), scales},
       {{"axis", std::int64_t{-1}}}},
      {"DynamicQuantizeLinear", "DynamicQuantizeLinear", {fed_type(DType::f32, {5, 7}, -1, 3)}, {}, 3},
      {"ConvInteger_padded", "ConvInteger", {image, signed_bytes({3, 4, 3, 2}), zero_point(7)}, padded},
      {"ConvInteger_grouped", "ConvInteger", {image, bytes({4, 2, 3, 3}), zero_point(7), zero_point(120)}, grouped},
      {"QLinearConv_channels",
       "QLinearConv",
       {image, scalar(0.03f), zero_point(128), signed_bytes({3, 4, 3, 3}), scales,
        constant(Tensor::of<std::int8_t>(Shape{3}, {0, 0, 0})), scalar(10), zero_point(130),
        constant(Tensor::of<std::int32_t>(Shape{3}, {100, -70, 3}))},
       padded},
      {"QLinearConv_grouped",
       "QLinearConv",
       {image, scalar(0.03f), zero_point(3), signed_bytes({4, 2, 3, 3}), scalar(0.02f), signed_zero_point(0),
        scalar(0.5f), signed_zero_point(-5)},
       grouped},
      {"MatMulInteger",
       "MatMulInteger",
       {bytes({kBatch, 5}), signed_bytes({5, 3}), zero_point(12), signed_zero_point(0)}},
      {"MatMulInteger_stack", "MatMulInteger", {bytes({2, 4, 5}), bytes({5, 3})}},
      {"QLinearMatMul",
       "QLinearMatMul",
       {bytes({kBatch, 5}), scalar(0.02f), zero_point(113), signed_bytes({5, 3}), scalar(0.01f), signed_zero_point(4),
        scalar(0.03f), zero_point(118)}},
  };
}

}  // namespace mangrove::samples
