#include "mangrove/graph/onnx_tensor.h"

#include <gtest/gtest.h>

#include "mangrove/graph/onnx.h"

namespace mangrove {
namespace {

onnx::TensorProto empty_proto(onnx::TensorProto::DataType type, std::vector<std::int64_t> dims) {
  onnx::TensorProto proto;
  proto.set_name("t");
  proto.set_data_type(type);
  for (const std::int64_t dim : dims) proto.add_dims(dim);
  return proto;
}

TEST(OnnxTensor, ReadsTypedFields) {
  auto floats = empty_proto(onnx::TensorProto::FLOAT, {2});
  floats.add_float_data(1.5f);
  floats.add_float_data(-2);
  EXPECT_EQ(parse_onnx_tensor(floats.SerializeAsString())->as<float>()[1], -2);
  auto doubles = empty_proto(onnx::TensorProto::DOUBLE, {});
  doubles.add_double_data(0.1);
  EXPECT_EQ(parse_onnx_tensor(doubles.SerializeAsString())->as<double>()[0], 0.1);
  auto longs = empty_proto(onnx::TensorProto::INT64, {1, 1});
  longs.add_int64_data(-1);
  EXPECT_EQ(parse_onnx_tensor(longs.SerializeAsString())->as<std::int64_t>()[0], -1);
  auto bytes = empty_proto(onnx::TensorProto::UINT8, {2});
  bytes.add_int32_data(255);
  bytes.add_int32_data(0);
  EXPECT_EQ(parse_onnx_tensor(bytes.SerializeAsString())->as<std::uint8_t>()[0], 255);
}

TEST(OnnxTensor, BooleansAreZeroOrOneInMemory) {
  auto raw = empty_proto(onnx::TensorProto::BOOL, {3});
  raw.set_raw_data(std::string("\x02\x00\x01", 3));
  const auto tensor = parse_onnx_tensor(raw.SerializeAsString());
  ASSERT_TRUE(tensor.ok()) << tensor.error().message;
  EXPECT_EQ(std::to_integer<int>(tensor->data()[0]), 1);
  EXPECT_FALSE(tensor->as<bool>()[1]);
  EXPECT_TRUE(tensor->as<bool>()[2]);
}

TEST(OnnxTensor, RefusesWhatDoesNotFit) {
  auto large = empty_proto(onnx::TensorProto::UINT8, {1});
  large.add_int32_data(256);
  EXPECT_EQ(parse_onnx_tensor(large.SerializeAsString()).code(), Code::data_loss);
  auto missing = empty_proto(onnx::TensorProto::FLOAT, {1 << 30, 1 << 9});
  EXPECT_EQ(parse_onnx_tensor(missing.SerializeAsString()).code(), Code::data_loss);
  auto empty_but_huge = empty_proto(onnx::TensorProto::FLOAT, {std::int64_t{1} << 39, std::int64_t{1} << 39, 0});
  EXPECT_EQ(parse_onnx_tensor(empty_but_huge.SerializeAsString()).code(), Code::data_loss);
  EXPECT_EQ(parse_onnx_tensor(empty_proto(onnx::TensorProto::STRING, {0}).SerializeAsString()).code(),
            Code::unimplemented);
  EXPECT_EQ(parse_onnx_tensor("").code(), Code::data_loss);
  EXPECT_EQ(parse_onnx_tensor("\xff\xff\xff").code(), Code::data_loss);
}

TEST(OnnxTensor, EveryTypeRoundTrips) {
  for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64, DType::u8, DType::boolean}) {
    Tensor tensor(dtype, {2, 1, 3});
    tensor.data()[0] = std::byte{1};
    onnx::TensorProto proto;
    encode_tensor(tensor, "t", proto);
    const auto decoded = parse_onnx_tensor(proto.SerializeAsString());
    ASSERT_TRUE(decoded.ok()) << decoded.error().message;
    EXPECT_EQ(decoded->dtype(), dtype);
    EXPECT_EQ(decoded->shape(), tensor.shape());
    EXPECT_EQ(decoded->data()[0], std::byte{1});
  }
}

}  // namespace
}  // namespace mangrove
