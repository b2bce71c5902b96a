#include "mangrove/serve/protocol/json_response.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "mangrove/serve/protocol/datatype.h"

namespace mangrove::serve {
namespace {

std::string written(const Tensor& tensor, const BinaryOutputs& binary = {}) {
  return write_json_response("m", "", {.version = "1", .outputs = {{"y", tensor}}}, binary).body;
}

// the answer of the example in inference_rest.md of the protocol, without blanks, and with the optional names
TEST(JsonResponse, TheExampleOfTheSpecification) {
  const JsonResponse response = write_json_response(
      "mymodel", "42",
      {.version = "3", .outputs = {{"output0", Tensor::of<float>({3, 2}, {1.0f, 1.1f, 2.0f, 2.1f, 3.0f, 3.1f})}}}, {});
  EXPECT_EQ(response.body,
            R"({"model_name":"mymodel","model_version":"3","id":"42","outputs":[{"name":"output0","datatype":"FP32",)"
            R"("shape":[3,2],"data":[1.0,1.1,2.0,2.1,3.0,3.1]}]})");
  EXPECT_FALSE(response.is_binary);
  EXPECT_EQ(response.json_bytes, response.body.size());
}

TEST(JsonResponse, BytesOfOutputsComeBehindTheJson) {
  const InferenceResponse answer{.version = "1",
                                 .outputs = {{"a", Tensor::of<std::int32_t>({2}, {1, 2})},
                                             {"b", Tensor::of<float>({1}, {0.5f})},
                                             {"c", Tensor::of<std::uint8_t>({3}, {7, 8, 9})}}};
  const JsonResponse response = write_json_response("m", "", answer, {.all = true, .chosen = {{"b", false}}});
  const std::string head = response.body.substr(0, response.json_bytes);
  EXPECT_EQ(head, R"({"model_name":"m","model_version":"1","outputs":[{"name":"a","datatype":"INT32","shape":[2],)"
                  R"("parameters":{"binary_data_size":8}},{"name":"b","datatype":"FP32","shape":[1],"data":[0.5]},)"
                  R"({"name":"c","datatype":"UINT8","shape":[3],"parameters":{"binary_data_size":3}}]})");
  EXPECT_EQ(response.body.substr(response.json_bytes), std::string("\1\0\0\0\2\0\0\0\7\10\11", 11));
  EXPECT_TRUE(response.is_binary);
}

TEST(JsonResponse, EveryTypeIsWrittenAsItsKind) {
  const auto data_of = [](const Tensor& tensor) {
    const std::string body = written(tensor);
    return body.substr(body.find("\"data\":") + 7, body.size() - body.find("\"data\":") - 10);
  };
  EXPECT_EQ(data_of(Tensor::of<double>({2}, {0.1, 1e300})), "[0.1,1e+300]");
  EXPECT_EQ(data_of(Tensor::of<float>({3}, {0.1f, -0.0f, 16777216.0f})), "[0.1,-0.0,16777216.0]");
  EXPECT_EQ(data_of(Tensor::of<std::int64_t>({1}, {INT64_MIN})), "[-9223372036854775808]");
  EXPECT_EQ(data_of(Tensor::of<std::int8_t>({2}, {-128, 127})), "[-128,127]");
  EXPECT_EQ(data_of(Tensor::of<std::uint8_t>({1}, {255})), "[255]");
  Tensor booleans(DType::boolean, Shape{2});
  booleans.as<bool>()[1] = true;
  EXPECT_EQ(data_of(booleans), "[false,true]");
  EXPECT_EQ(data_of(Tensor(DType::f32, Shape{0})), "[]");
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  EXPECT_EQ(data_of(Tensor::of<float>({2}, {kInfinite, std::numeric_limits<float>::quiet_NaN()})), "[null,null]");
}

TEST(JsonResponse, NamesAreEscaped) {
  const std::string body =
      write_json_response("m", "a\"\n\xff", {.version = "1", .outputs = {{"\"", Tensor::of<float>({1}, {1})}}}, {})
          .body;
  const auto parsed = nlohmann::json::parse(body, nullptr, false);
  ASSERT_FALSE(parsed.is_discarded()) << body;
  EXPECT_EQ(parsed["outputs"][0]["name"], "\"");
}

TEST(Datatype, NamesAndTypesBelongTogether) {
  for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64, DType::u8, DType::i8, DType::boolean}) {
    const auto read = parse_datatype(datatype_name(dtype));
    ASSERT_TRUE(read.ok()) << datatype_name(dtype);
    EXPECT_EQ(*read, dtype);
  }
}

}  // namespace
}  // namespace mangrove::serve
