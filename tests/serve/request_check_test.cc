#include "mangrove/serve/request_check.h"

#include <gtest/gtest.h>

#include "tests/serve/served_networks.h"

#include "mangrove/serve/model_metadata.h"

namespace mangrove::serve {
namespace {

Tensor floats(const Shape& shape) {
  return Tensor(DType::f32, shape);
}

struct WrongRequest {
  const char* name;
  InferenceRequest request;
  const char* message;
};

const std::vector<WrongRequest>& wrong_requests() {
  const auto with_outputs = [](std::vector<std::string> outputs) {
    InferenceRequest request = request_of({{"a", floats({2, 3})}, {"b", floats({2, 3})}});
    request.outputs = std::move(outputs);
    return request;
  };
  static const std::vector<WrongRequest> cases{
      {"unknown", request_of({{"a", floats({2, 3})}, {"image", floats({2, 3})}}),
       "unknown input 'image'; known: a and b"},
      {"control_characters", request_of({{"a\x1b[2J", floats({2, 3})}}), "unknown input 'a\\x1b[2J'; known: a and b"},
      {"missing", request_of({{"a", floats({2, 3})}}), "input 'b' is missing; its inputs: a and b"},
      {"none", request_of({}), "input 'a' is missing; its inputs: a and b"},
      {"twice", request_of({{"a", floats({2, 3})}, {"a", floats({2, 3})}}), "input 'a' is given twice"},
      {"type", request_of({{"a", Tensor(DType::f64, {2, 3})}, {"b", floats({2, 3})}}),
       "input 'a' is f64 [2, 3], expected f32 [N, 3]"},
      {"shape", request_of({{"a", floats({2, 3})}, {"b", floats({2, 4})}}),
       "input 'b' is f32 [2, 4], expected f32 [N, 3]"},
      {"rank", request_of({{"a", floats({3})}, {"b", floats({2, 3})}}), "input 'a' is f32 [3], expected f32 [N, 3]"},
      {"no_samples", request_of({{"a", floats({0, 3})}, {"b", floats({0, 3})}}),
       "input 'a' has no samples, expected 1 or more"},
      {"other_batch", request_of({{"a", floats({2, 3})}, {"b", floats({3, 3})}}),
       "input 'b' has 3 samples, input 'a' has 2; expected as many"},
      {"unknown_output", with_outputs({"sum", "some"}), "unknown output 'some'; did you mean 'sum'?"},
      {"output_twice", with_outputs({"sum", "sum"}), "output 'sum' is wanted twice"},
  };
  return cases;
}

class EveryWrongRequest : public ::testing::TestWithParam<WrongRequest> {};

TEST_P(EveryWrongRequest, IsRefusedWithWhatWasFoundAndExpected) {
  const auto checked = check_request(metadata_of(two_inputs(), "m", "1", {}, 4), GetParam().request);
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.code(), Code::invalid_argument);
  EXPECT_EQ(checked.error().message, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(Requests, EveryWrongRequest, ::testing::ValuesIn(wrong_requests()),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(CheckRequest, BringsInputsIntoTheModelsOrder) {
  InferenceRequest request = request_of({{"b", Tensor::of<float>({1, 3}, {4, 5, 6})}, {"a", floats({1, 3})}});
  request.outputs = {"product", "sum"};
  const auto checked = check_request(metadata_of(two_inputs(), "m", "1", {}, 4), request);
  ASSERT_TRUE(checked.ok());
  EXPECT_EQ(checked->inputs[1].as<float>()[2], 6);
  EXPECT_EQ(checked->outputs, (std::vector<std::size_t>{1, 0}));
  EXPECT_EQ(checked->samples, 1);
}

TEST(CheckRequest, BooleansAreZeroOrOne) {
  Tensor tensor(DType::boolean, {2, 2});
  tensor.data()[3] = std::byte{7};
  const auto checked =
      check_request(metadata_of(identity(DType::boolean, {kBatch, 2}), "m", "1", {}, 4), request_of({{"x", tensor}}));
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().message, "element 3 of input 'x' is 7, expected 0 or 1");
}

TEST(CheckRequest, ALongNameIsCutInTheMessage) {
  const auto checked = check_request(metadata_of(two_inputs(), "m", "1", {}, 4),
                                     request_of({{std::string(1'000'000, 'x'), floats({1, 3})}}));
  ASSERT_FALSE(checked.ok());
  EXPECT_LT(checked.error().message.size(), 400u);
}

}  // namespace
}  // namespace mangrove::serve
