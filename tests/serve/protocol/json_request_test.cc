#include "mangrove/serve/protocol/json_request.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mangrove::serve {
namespace {

using namespace std::string_literals;

constexpr Instant kNow{100};

Result<JsonRequest> parse(const std::string& body) {
  return parse_json_request(body, std::nullopt, kNow);
}

template <class T>
std::vector<T> elements_of(const Tensor& tensor) {
  const std::span<const T> elements = tensor.as<T>();
  return {elements.begin(), elements.end()};
}

/// A request with one input of this type, shape and data.
std::string with_data(const std::string& datatype, const std::string& shape, const std::string& data) {
  return R"({"inputs":[{"name":"x","shape":)" + shape + R"(,"datatype":")" + datatype + R"(","data":)" + data + "}]}";
}

// inference_rest.md of the protocol, with INT32 in place of UINT32, which no tensor here has
TEST(JsonRequest, TheExampleOfTheSpecification) {
  const auto parsed = parse(R"({
  "id" : "42",
  "inputs" : [
    {
      "name" : "input0",
      "shape" : [ 2, 2 ],
      "datatype" : "INT32",
      "data" : [ 1, 2, 3, 4 ]
    },
    {
      "name" : "input1",
      "shape" : [ 3 ],
      "datatype" : "BOOL",
      "data" : [ true, false, true ]
    }
  ],
  "outputs" : [
    {
      "name" : "output0"
    }
  ]
})");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  const InferenceRequest& request = parsed->request;
  EXPECT_EQ(request.id, "42");
  ASSERT_EQ(request.inputs.size(), 2u);
  EXPECT_EQ(request.inputs[0].name, "input0");
  EXPECT_EQ(request.inputs[0].tensor.shape(), (Shape{2, 2}));
  EXPECT_EQ(elements_of<std::int32_t>(request.inputs[0].tensor), (std::vector<std::int32_t>{1, 2, 3, 4}));
  EXPECT_EQ(elements_of<bool>(request.inputs[1].tensor), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(request.outputs, std::vector<std::string>{"output0"});
  EXPECT_FALSE(parsed->binary.is_binary("output0"));
  EXPECT_EQ(request.deadline, Deadline::never());
  EXPECT_EQ(request.priority, 0);
}

// the extension binary_tensor_data of Triton
TEST(JsonRequest, BytesOfInputsComeBehindTheJson) {
  const std::string head =
      R"({"model_name":"mymodel","inputs":[{"name":"input0","shape":[2,2],"datatype":"INT32","parameters":)"
      R"({"binary_data_size":16}},{"name":"input1","shape":[3],"datatype":"BOOL","parameters":{"binary_data_size":3}}],)"
      R"("outputs":[{"name":"output0","parameters":{"binary_data":true}}]})";
  const std::string bytes = "\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\1\0\1"s;
  const auto parsed = parse_json_request(head + bytes, head.size(), kNow);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(elements_of<std::int32_t>(parsed->request.inputs[0].tensor), (std::vector<std::int32_t>{1, 2, 3, 4}));
  EXPECT_EQ(elements_of<bool>(parsed->request.inputs[1].tensor), (std::vector<bool>{true, false, true}));
  EXPECT_TRUE(parsed->binary.is_binary("output0"));
  EXPECT_FALSE(parsed->binary.is_binary("output1"));
}

TEST(JsonRequest, AllOutputsAreBinaryButThoseThatAreNot) {
  const auto parsed = parse(R"({"parameters":{"binary_data_output":true},"inputs":[],)"
                            R"("outputs":[{"name":"a"},{"name":"b","parameters":{"binary_data":false}}]})");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_TRUE(parsed->binary.is_binary("a"));
  EXPECT_FALSE(parsed->binary.is_binary("b"));
}

TEST(JsonRequest, DataMayBeListsInLists) {
  const auto parsed = parse(with_data("FP32", "[2,1,3]", "[[[1,2.5,-3]],[[4,5,6e1]]]"));
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(elements_of<float>(parsed->request.inputs[0].tensor), (std::vector<float>{1, 2.5, -3, 4, 5, 60}));
}

TEST(JsonRequest, EveryTypeKeepsItsEnds) {
  const auto whole = parse(with_data("INT64", "[2]", "[-9223372036854775808,9223372036854775807]"));
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  EXPECT_EQ(elements_of<std::int64_t>(whole->request.inputs[0].tensor),
            (std::vector<std::int64_t>{INT64_MIN, INT64_MAX}));
  const auto small = parse(with_data("INT8", "[2]", "[-128,127]"));
  ASSERT_TRUE(small.ok()) << small.error().message;
  EXPECT_EQ(elements_of<std::int8_t>(small->request.inputs[0].tensor), (std::vector<std::int8_t>{-128, 127}));
  const auto byte = parse(with_data("UINT8", "[2]", "[0,255]"));
  ASSERT_TRUE(byte.ok()) << byte.error().message;
  const auto real = parse(with_data("FP64", "[3]", "[18446744073709551615,0.1,1e300]"));
  ASSERT_TRUE(real.ok()) << real.error().message;
  EXPECT_EQ(elements_of<double>(real->request.inputs[0].tensor),
            (std::vector<double>{18446744073709551615.0, 0.1, 1e300}));
}

TEST(JsonRequest, PriorityAndTimeoutAreTheRequests) {
  const auto parsed = parse(R"({"parameters":{"priority":1,"timeout":250000},"inputs":[]})");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->request.deadline.seconds, kNow.seconds + 0.25);
  const auto last = parse(R"({"parameters":{"priority":100},"inputs":[]})");
  ASSERT_TRUE(last.ok()) << last.error().message;
  EXPECT_GT(parsed->request.priority, 0) << "1 is answered first, 0 stands for the middle";
  EXPECT_LT(last->request.priority, 0);
}

struct Malformed {
  std::string body;
  std::string named;  // in the error
  Code code = Code::invalid_argument;
};

TEST(JsonRequest, WhatIsMalformedIsNamed) {
  const std::string deep = R"({"inputs":)" + std::string(40, '[') + std::string(40, ']') + "}";
  std::string many = R"({"a":[0)";
  for (int i = 0; i < 20'001; ++i) many += ",0";
  const std::vector<Malformed> cases = {
      {"", "no JSON"},
      {"{", "no JSON"},
      {"[]", "is an object"},
      {"{}", "no 'inputs'"},
      {R"({"inputs":{}})", "'inputs' is no list"},
      {R"({"inputs":[1]})", "inputs[0] is no object"},
      {R"({"inputs":[{}]})", "inputs[0]: it has no 'name'"},
      {R"({"inputs":[],"inputs":[]})", "'inputs' twice"},
      {R"({"inputs":[{"name":7}]})", "its 'name' is no text"},
      {R"({"inputs":[{"name":"x"}]})", "input 'x': it has no 'datatype'"},
      {R"({"inputs":[{"name":"x","datatype":"FP32"}]})", "it has no 'shape'"},
      {R"({"inputs":[{"name":"x","datatype":"FP32","shape":[2]}]})", "neither 'data' nor"},
      {R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":7}]})", "'data' are no list"},
      {R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":{"a":[1]}}]})", "'data' are no list"},
      {R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[1],"parameters":{"binary_data_size":4}}]})",
       "both 'data' and"},
      {R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1],"parameters":{"binary_data_size":4}}]})",
       "no header Inference-Header"},
      {R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[1],"parameters":7}]})", "no object"},
      {with_data("FP32", "7", "[1]"), "'shape' is no list"},
      {with_data("FP32", "[1.5]", "[1]"), "'shape' is no list"},
      {with_data("FP32", "[18446744073709551615]", "[1]"), "'shape' is no list"},
      {with_data("FP32", "[-1]", "[1]"), "a dimension of -1"},
      {with_data("FP32", "[0]", "[]"), "a dimension of 0"},
      {with_data("FP32", "[4611686018427387904,4]", "[1]"), "more elements than can be counted"},
      {with_data("FP32", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "[1]"), "17 dimensions"},
      {with_data("FP32", "[2]", "[1]"), "1 elements"},
      {with_data("FP32", "[4]", "[1,2,3,4,5]"), "5 elements"},
      {with_data("FP32", "[2,2]", "[[1,2,3,4]]"), "lists in its data are [1, 4]"},
      {with_data("FP32", "[2,2]", "[[1,2],[3]]"), "unlike lengths"},
      {with_data("FP32", "[2]", R"(["1","2"])"), "a text"},
      {with_data("FP32", "[1]", "[null]"), "null"},
      {with_data("FP32", "[1]", "[true]"), "true or false"},
      {with_data("FP32", "[1]", "[1e39]"), "no FP32"},
      {with_data("FP32", "[1]", "[{}]"), "an object in the data"},
      {with_data("INT32", "[1]", "[1.5]"), "a fraction"},
      {with_data("INT32", "[1]", "[2147483648]"), "2147483648"},
      {with_data("INT8", "[1]", "[128]"), "128"},
      {with_data("UINT8", "[1]", "[-1]"), "-1"},
      {with_data("BOOL", "[1]", "[2]"), "neither 0 nor 1"},
      {with_data("FLOAT", "[1]", "[1]"), "datatype 'FLOAT' is not known"},
      {with_data("BYTES", "[1]", R"(["a"])"), "BYTES are not served", Code::unimplemented},
      {with_data("FP16", "[1]", "[1]"), "FP16 are not served", Code::unimplemented},
      {R"({"id":7,"inputs":[]})", "'id' is no text"},
      {R"({"id":")" + std::string(2000, 'a') + R"(","inputs":[]})", "longer than 1024"},
      {R"({"inputs":[],"outputs":7})", "'outputs' is no list"},
      {R"({"inputs":[],"outputs":[{}]})", "outputs[0]: it has no 'name'"},
      {R"({"inputs":[],"outputs":[{"name":"y","parameters":{"binary_data":1}}]})", "neither true nor false"},
      {R"({"inputs":[],"outputs":[{"name":"y","parameters":{"classification":3}}]})", "'classification' is not served",
       Code::unimplemented},
      {R"({"parameters":{"priority":-1},"inputs":[]})", "'priority' is not a whole number"},
      {R"({"parameters":{"priority":101},"inputs":[]})", "'priority' is not a whole number"},
      {R"({"parameters":{"timeout":"soon"},"inputs":[]})", "'timeout' is not a whole number"},
      {R"({"parameters":{"timeout":1e30},"inputs":[]})", "'timeout' is not a whole number"},
      {R"({"parameters":{"sequence_id":1},"inputs":[]})", "'sequence_id' is not served", Code::unimplemented},
      {deep, "more than 32 deep"},
      {many, "more than 20000 values"},
      {"{\"inputs\":[\xff]}", "no JSON"},
  };
  for (const Malformed& one : cases) {
    const auto parsed = parse(one.body);
    ASSERT_FALSE(parsed.ok()) << one.body.substr(0, 200);
    EXPECT_EQ(parsed.code(), one.code) << parsed.error().message;
    EXPECT_NE(parsed.error().message.find(one.named), std::string::npos)
        << one.body.substr(0, 200) << "\n  " << parsed.error().message;
  }
}

TEST(JsonRequest, WhatIsMalformedInBinaryPartsIsNamed) {
  const auto with_size = [](const std::string& datatype, const std::string& size) {
    return R"({"inputs":[{"name":"x","shape":[2],"datatype":")" + datatype + R"(","parameters":{"binary_data_size":)" +
           size + "}}]}";
  };
  struct Case {
    std::string head, bytes, named;
    std::size_t length = std::string::npos;  // that the header says; by default the right one
  };
  const std::vector<Case> cases = {
      {with_size("FP32", "8"), "1234567", "only 7 bytes more"},
      {with_size("FP32", "8"), "123456789", "1 bytes that belong to no input"},
      {with_size("FP32", "4"), "1234", "it has 4 bytes"},
      {with_size("FP32", "-1"), "", "no number of bytes"},
      {with_size("FP32", "true"), "", "no number of bytes"},
      {with_size("FP32", "9223372036854775807"), "", "only 0 bytes more"},
      {with_size("BOOL", "2"), "\1\2", "neither 0 nor 1"},
      {with_size("FP32", "8"), "12345678", "Inference-Header-Content-Length is 1000", 1000},
      {with_size("FP32", "8"), "12345678", "no JSON", 5},
  };
  for (const Case& one : cases) {
    const std::size_t length = one.length == std::string::npos ? one.head.size() : one.length;
    const auto parsed = parse_json_request(one.head + one.bytes, length, kNow);
    ASSERT_FALSE(parsed.ok()) << one.named;
    EXPECT_EQ(parsed.code(), Code::invalid_argument) << parsed.error().message;
    EXPECT_NE(parsed.error().message.find(one.named), std::string::npos) << parsed.error().message;
  }
}

}  // namespace
}  // namespace mangrove::serve
