#include <gtest/gtest.h>

#include <limits>

#include "tests/graph/small_graphs.h"

namespace mangrove {
namespace {

using Ints = std::vector<std::int64_t>;
using Attributes = std::map<std::string, Attribute>;
using Constants = std::map<std::size_t, Tensor>;

struct ShapeCase {
  const char* name;
  const char* op;
  std::vector<Shape> inputs;
  Attributes attributes;
  Constants constants;
  Shape expected;            // where it fits
  const char* message = "";  // where it does not: a part of the error
};

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

Constants new_shape(const Ints& dims) {
  return {{1, Tensor::of<std::int64_t>({static_cast<std::int64_t>(dims.size())}, dims)}};
}

Attributes window(Ints kernel, Ints strides, Ints pads) {
  return {{"kernel_shape", std::move(kernel)}, {"strides", std::move(strides)}, {"pads", std::move(pads)}};
}

Attributes padded(const char* mode, Ints kernel, Ints strides) {
  return {{"kernel_shape", std::move(kernel)}, {"strides", std::move(strides)}, {"auto_pad", std::string(mode)}};
}

class ShapeRule : public ::testing::TestWithParam<ShapeCase> {};

TEST_P(ShapeRule, GivesTheShapeOrTheReason) {
  const ShapeCase& c = GetParam();
  const auto shape = testing::infer_one(testing::make_node("", c.op, {}, {}, c.attributes), c.inputs, c.constants);
  if (*c.message == '\0') {
    ASSERT_TRUE(shape.ok()) << shape.error().message;
    EXPECT_EQ(to_string(*shape), to_string(c.expected));
  } else {
    ASSERT_FALSE(shape.ok()) << to_string(*shape);
    EXPECT_NE(shape.error().message.find(c.message), std::string::npos) << shape.error().message;
    EXPECT_EQ(shape.error().message.find("node 'n'"), 0u) << shape.error().message;
  }
}

Attributes rounded_up(Ints kernel, Ints strides, Ints pads) {
  Attributes attributes = window(std::move(kernel), std::move(strides), std::move(pads));
  attributes["ceil_mode"] = std::int64_t{1};
  return attributes;
}

const ShapeCase kConv[] = {
    {"Plain", "Conv", {{kBatch, 3, 9, 7}, {8, 3, 3, 3}, {8}}, {}, {}, {kBatch, 8, 7, 5}},
    {"OddPads", "Conv", {{2, 3, 9, 7}, {8, 3, 3, 2}}, window({3, 2}, {2, 3}, {1, 0, 2, 1}), {}, {2, 8, 5, 3}},
    {"Dilated", "Conv", {{1, 1, 9, 9}, {1, 1, 3, 3}}, {{"dilations", Ints{2, 4}}}, {}, {1, 1, 5, 1}},
    {"Depthwise", "Conv", {{1, 6, 5, 5}, {12, 1, 3, 3}}, {{"group", std::int64_t{6}}}, {}, {1, 12, 3, 3}},
    {"SameUpper", "Conv", {{1, 1, 7, 8}, {1, 1, 3, 3}}, padded("SAME_UPPER", {3, 3}, {2, 2}), {}, {1, 1, 4, 4}},
    {"SameLower", "Conv", {{1, 1, 7, 8}, {1, 1, 2, 2}}, padded("SAME_LOWER", {2, 2}, {1, 3}), {}, {1, 1, 7, 3}},
    {"Valid", "Conv", {{1, 1, 7, 8}, {1, 1, 3, 3}}, padded("VALID", {3, 3}, {2, 2}), {}, {1, 1, 3, 3}},
    {"UnknownPadding",
     "Conv",
     {{1, 1, 7, 8}, {1, 1, 3, 3}},
     {{"auto_pad", std::string("SOME")}},
     {},
     {},
     "auto_pad is 'SOME'"},
    {"TwoPaddings",
     "Conv",
     {{1, 1, 7, 8}, {1, 1, 3, 3}},
     {{"auto_pad", std::string("VALID")}, {"pads", Ints{1, 1, 1, 1}}},
     {},
     {},
     "contradict"},
    {"OtherChannels", "Conv", {{1, 4, 7, 8}, {1, 3, 3, 3}}, {}, {}, {}, "channels of input [1, 4, 7, 8]"},
    {"GroupZero", "Conv", {{1, 4, 7, 8}, {1, 4, 3, 3}}, {{"group", std::int64_t{0}}}, {}, {}, "group 0"},
    {"GroupNotDividing", "Conv", {{1, 4, 7, 8}, {3, 2, 3, 3}}, {{"group", std::int64_t{2}}}, {}, {}, "group 2"},
    {"KernelTooLarge", "Conv", {{1, 1, 4, 4}, {1, 1, 5, 5}}, {}, {}, {}, "does not fit into input [1, 1, 4, 4]"},
    {"KernelContradicts",
     "Conv",
     {{1, 1, 4, 4}, {1, 1, 3, 3}},
     {{"kernel_shape", Ints{2, 2}}},
     {},
     {},
     "kernel_shape is [2, 2], but weights have shape [1, 1, 3, 3]"},
    {"OneStride", "Conv", {{1, 1, 4, 4}, {1, 1, 3, 3}}, {{"strides", Ints{1}}}, {}, {}, "strides is [1], expected 2"},
    {"StrideZero", "Conv", {{1, 1, 4, 4}, {1, 1, 3, 3}}, {{"strides", Ints{1, 0}}}, {}, {}, "strides is [1, 0]"},
    {"NegativePad", "Conv", {{1, 1, 4, 4}, {1, 1, 3, 3}}, {{"pads", Ints{0, 0, -2, 0}}}, {}, {}, "attribute pads"},
    {"HugePad", "Conv", {{1, 1, 4, 4}, {1, 1, 3, 3}}, {{"pads", Ints{kHuge, 0, kHuge, 0}}}, {}, {}, "attribute pads"},
    {"HugeDilation", "Conv", {{1, 1, 4, 4}, {1, 1, 3, 3}}, {{"dilations", Ints{kHuge, 1}}}, {}, {}, "dilations"},
    {"Signal", "Conv", {{kBatch, 2, 9}, {3, 2, 4}}, {{"strides", Ints{2}}, {"pads", Ints{1, 2}}}, {}, {kBatch, 3, 5}},
    {"SignalSame", "Conv", {{1, 1, 8}, {1, 1, 3}}, padded("SAME_UPPER", {3}, {3}), {}, {1, 1, 3}},
    {"Volume", "Conv", {{1, 1, 4, 4, 4}, {1, 1, 3, 3, 3}}, {}, {}, {}, "expected a convolution of [N, C, W]"},
    {"BiasOfOtherLength", "Conv", {{1, 1, 4, 4}, {2, 1, 3, 3}, {3}}, {}, {}, {}, "bias has shape [3], expected [2]"},
};

const ShapeCase kPool[] = {
    {"Max", "MaxPool", {{kBatch, 3, 24, 24}}, window({2, 2}, {2, 2}, {0, 0, 0, 0}), {}, {kBatch, 3, 12, 12}},
    {"MaxOdd", "MaxPool", {{kBatch, 3, 7, 5}}, window({3, 2}, {2, 1}, {1, 0, 1, 1}), {}, {kBatch, 3, 4, 5}},
    {"Average", "AveragePool", {{1, 3, 8, 8}}, {{"kernel_shape", Ints{3, 3}}}, {}, {1, 3, 6, 6}},
    {"AverageSame", "AveragePool", {{1, 3, 8, 8}}, padded("SAME_LOWER", {3, 3}, {3, 3}), {}, {1, 3, 3, 3}},
    {"Global", "GlobalAveragePool", {{kBatch, 3, 8, 5}}, {}, {}, {kBatch, 3, 1, 1}},
    {"NoKernel", "MaxPool", {{1, 3, 8, 8}}, {}, {}, {}, "kernel_shape is [0, 0]"},
    {"OnlyPadding", "MaxPool", {{1, 3, 8, 8}}, window({2, 2}, {1, 1}, {2, 0, 0, 0}), {}, {}, "padding must be smaller"},
    {"RoundedUp", "MaxPool", {{1, 3, 8, 8}}, rounded_up({3, 2}, {2, 3}, {0, 0, 0, 0}), {}, {1, 3, 4, 3}},
    {"RoundedUpBegins", "MaxPool", {{1, 1, 4}}, rounded_up({2}, {5}, {0, 1}), {}, {1, 1, 1}},
    {"Dilated", "MaxPool", {{1, 1, 8}}, {{"kernel_shape", Ints{2}}, {"dilations", Ints{3}}}, {}, {1, 1, 5}},
    {"DilatedPastAll",
     "MaxPool",
     {{1, 1, 2}},
     {{"kernel_shape", Ints{2}}, {"dilations", Ints{3}}, {"pads", Ints{2, 2}}},
     {},
     {},
     "can miss all of an input of 2"},
    {"GlobalVolume", "GlobalAveragePool", {{1, 3, 8, 8, 8}}, {}, {}, {1, 3, 1, 1, 1}},
    {"GlobalMatrix", "GlobalMaxPool", {{1, 3}}, {}, {}, {}, "expected [N, C, ...]"},
};

const ShapeCase kMatrix[] = {
    {"Gemm", "Gemm", {{kBatch, 4}, {4, 3}, {3}}, {}, {}, {kBatch, 3}},
    {"GemmTransposed",
     "Gemm",
     {{4, 2}, {3, 4}},
     {{"transA", std::int64_t{1}}, {"transB", std::int64_t{1}}},
     {},
     {2, 3}},
    {"GemmColumnBias", "Gemm", {{2, 4}, {4, 3}, {2, 1}}, {}, {}, {2, 3}},
    {"GemmScalarBias", "Gemm", {{kBatch, 4}, {4, 3}, Shape{}}, {}, {}, {kBatch, 3}},
    {"GemmLargerBias",
     "Gemm",
     {{2, 4}, {4, 1}, {2, 5}},
     {},
     {},
     {},
     "bias [2, 5] does not broadcast to the result [2, 1]"},
    {"GemmFixedBiasOfABatch", "Gemm", {{kBatch, 4}, {4, 3}, {2, 3}}, {}, {}, {}, "does not broadcast"},
    {"GemmBatchTransposed", "Gemm", {{kBatch, 4}, {4, 3}}, {{"transA", std::int64_t{1}}}, {}, {}, "rows of the result"},
    {"MatMul", "MatMul", {{kBatch, 4}, {4, 3}}, {}, {}, {kBatch, 3}},
    {"MatMulInner", "MatMul", {{kBatch, 4}, {5, 3}}, {}, {}, {}, "inner dimensions differ: [N, 4] x [5, 3]"},
    {"MatMulStacks", "MatMul", {{kBatch, 1, 3, 4}, {2, 4, 5}}, {}, {}, {kBatch, 2, 3, 5}},
    {"MatMulRow", "MatMul", {{4}, {kBatch, 4, 3}}, {}, {}, {kBatch, 3}},
    {"MatMulColumn", "MatMul", {{kBatch, 3, 4}, {4}}, {}, {}, {kBatch, 3}},
    {"MatMulDot", "MatMul", {{4}, {4}}, {}, {}, {}},
    {"MatMulOtherStacks", "MatMul", {{2, 3, 4}, {3, 4, 3}}, {}, {}, {}, "stacks of matrices [2, 3, 4] x [3, 4, 3]"},
    {"MatMulScalar", "MatMul", {{}, {4, 3}}, {}, {}, {}, "expected matrices"},
    {"MatMulOverBatch", "MatMul", {{4, kBatch}, {kBatch, 3}}, {}, {}, {}, "the batch would be summed over"},
};

const ShapeCase kElementwise[] = {
    {"AddSame", "Add", {{kBatch, 3, 2}, {kBatch, 3, 2}}, {}, {}, {kBatch, 3, 2}},
    {"AddBias", "Add", {{kBatch, 3, 2}, {3, 1}}, {}, {}, {kBatch, 3, 2}},
    {"AddBoth", "Add", {{4, 1, 2}, {5, 1}}, {}, {}, {4, 5, 2}},
    {"AddOneSample", "Add", {{1, 3}, {kBatch, 3}}, {}, {}, {kBatch, 3}},
    {"AddMisfit", "Add", {{kBatch, 3}, {kBatch, 4}}, {}, {}, {}, "do not broadcast: [N, 3] and [N, 4]"},
    {"AddFixedToBatch", "Add", {{kBatch, 3}, {2, 3}}, {}, {}, {}, "do not broadcast"},
    {"AddBatchInside", "Add", {{kBatch, 3}, {5, 1, 3}}, {}, {}, {5, kBatch, 3}},
    {"AddTwoBatches", "Add", {{kBatch, 3}, {kBatch, 1, 3}}, {}, {}, {}, "the batch in two dimensions"},
    {"Relu", "Relu", {{kBatch, 3, 1}}, {}, {}, {kBatch, 3, 1}},
    {"SoftmaxLast", "Softmax", {{kBatch, 3, 4}}, {{"axis", std::int64_t{2}}}, {}, {kBatch, 3, 4}},
    {"SoftmaxMiddle", "Softmax", {{kBatch, 3, 4}}, {{"axis", std::int64_t{1}}}, {}, {kBatch, 3, 4}},
    {"AddHeads", "Add", {{-3, 5}, {5}}, {}, {}, {-3, 5}},
    {"AddHeadsToOthers", "Add", {{-3, 5}, {kBatch, 5}}, {}, {}, {}, "do not broadcast: [3N, 5] and [N, 5]"},
    {"SoftmaxOverHeads", "Softmax", {{-3}}, {}, {}, {}, "no dimension to normalise"},
    {"SoftmaxOverBatch", "Softmax", {{kBatch}}, {}, {}, {}, "no dimension to normalise"},
};

const ShapeCase kShapeRuleShape[] = {
    {"Flatten", "Flatten", {{kBatch, 50, 4, 4}}, {}, {}, {kBatch, 800}},
    {"FlattenAxis", "Flatten", {{2, 3, 4, 5}}, {{"axis", std::int64_t{-1}}}, {}, {24, 5}},
    {"FlattenAll", "Flatten", {{2, 3, 4, 5}}, {{"axis", std::int64_t{0}}}, {}, {1, 120}},
    {"FlattenUnitChannel", "Flatten", {{kBatch, 1, 4, 5}}, {{"axis", std::int64_t{2}}}, {}, {kBatch, 20}},
    {"FlattenBatchAway", "Flatten", {{kBatch, 2, 4}}, {{"axis", std::int64_t{2}}}, {}, {-2, 4}},
    {"FlattenBatchBehindOthers", "Flatten", {{3, kBatch, 4}}, {{"axis", std::int64_t{2}}}, {}, {-3, 4}},
    {"FlattenBatchInside", "Flatten", {{1, kBatch, 4, 5}}, {{"axis", std::int64_t{2}}}, {}, {kBatch, 20}},
    {"FlattenBatchLast", "Flatten", {{3, 4, kBatch}}, {{"axis", std::int64_t{2}}}, {}, {12, kBatch}},
    {"FlattenAxisOutside", "Flatten", {{2, 4}}, {{"axis", std::int64_t{3}}}, {}, {}, "axis is 3"},
    {"ReshapeMinusOneFirst", "Reshape", {{kBatch, 50, 4, 4}, {}}, {}, new_shape({-1, 800}), {kBatch, 800}},
    {"ReshapeZeroFirst", "Reshape", {{kBatch, 50, 4, 4}, {}}, {}, new_shape({0, -1, 16}), {kBatch, 50, 16}},
    {"ReshapeFixed", "Reshape", {{2, 3, 4}, {}}, {}, new_shape({0, 2, -1}), {2, 2, 6}},
    {"ReshapeToVector", "Reshape", {{2, 3}, {}}, {}, new_shape({6}), {6}},
    {"ReshapeToScalar", "Reshape", {{1, 1}, {}}, {}, new_shape({}), Shape{}},
    {"ReshapeMergesBatch", "Reshape", {{kBatch, 4, 4}, {}}, {}, new_shape({-1, 4}), {-4, 4}},
    {"ReshapeTakesHeadsOut", "Reshape", {{-12, 7, 2}, {}}, {}, new_shape({-1, 12, 7, 2}), {kBatch, 12, 7, 2}},
    {"ReshapeTakesSomeHeadsOut", "Reshape", {{-12, 7, 2}, {}}, {}, new_shape({-1, 3, 7, 2}), {-4, 3, 7, 2}},
    {"ReshapeCopiesHeads", "Reshape", {{-12, 7, 2}, {}}, {}, new_shape({0, -1}), {-12, 14}},
    {"ReshapeMergesTheBatchInside", "Reshape", {{7, kBatch, 12}, {}}, {}, new_shape({7, -1, 4}), {7, -3, 4}},
    {"ReshapeTakesHeadsOutInFront",
     "Reshape",
     {{kBatch, 3, 7}, {}},
     {},
     new_shape({3, -1, 7}),
     {},
     "mixes the samples of the batch"},
    {"ReshapeFixesBatch", "Reshape", {{kBatch, 4}, {}}, {}, new_shape({1, 4}), {}, "with the batch kept a dimension"},
    {"ReshapeBatchInside", "Reshape", {{6, kBatch, 4}, {}}, {}, new_shape({2, 3, -1, 2, 2}), {2, 3, kBatch, 2, 2}},
    {"ReshapeCopiesBatchInside", "Reshape", {{6, kBatch, 4}, {}}, {}, new_shape({0, 0, -1, 2}), {6, kBatch, 2, 2}},
    {"ReshapeMovesBatch", "Reshape", {{1, kBatch, 4}, {}}, {}, new_shape({-1, 4}), {kBatch, 4}},
    {"ReshapeAcrossBatch", "Reshape", {{2, kBatch, 4}, {}}, {}, new_shape({4, -1, 2}), {}, "mixes the samples"},
    {"ReshapeAllowsZero", "Reshape", {{6}, {}}, {{"allowzero", std::int64_t{1}}}, new_shape({6, 0}), {}, "cannot take"},
    {"ReshapeOtherCount", "Reshape", {{2, 3}, {}}, {}, new_shape({4, 2}), {}, "cannot take the shape [4, 2]"},
    {"ReshapeNotDividing", "Reshape", {{2, 3}, {}}, {}, new_shape({4, -1}), {}, "cannot take the shape"},
    {"ReshapeTwoOpen", "Reshape", {{2, 3}, {}}, {}, new_shape({-1, -1}), {}, "more than one -1"},
    {"ReshapeHuge", "Reshape", {{2, 3}, {}}, {}, new_shape({kHuge, kHuge, 6}), {}, "cannot take the shape"},
    {"ReshapeNegative", "Reshape", {{2, 3}, {}}, {}, new_shape({-2, 3}), {}, "value -2 at 0"},
    {"ReshapeZeroOutside", "Reshape", {{6}, {}}, {}, new_shape({6, 0}), {}, "value 0 at 1"},
    {"ReshapeNotConstant", "Reshape", {{2, 3}, {2}}, {}, {}, {}, "must be a constant i64 vector"},
    {"Identity", "Identity", {{kBatch, 3}}, {}, {}, {kBatch, 3}},
    {"Dropout", "Dropout", {{kBatch, 3}, {}}, {}, {{1, Tensor::of<float>(Shape{}, {0.3f})}}, {kBatch, 3}},
    {"DropoutNotTraining",
     "Dropout",
     {{kBatch, 3}, {}, {}},
     {},
     {{1, Tensor::of<float>(Shape{}, {0.3f})}, {2, Tensor(DType::boolean, Shape{})}},
     {kBatch, 3}},
    {"DropoutOpenRatio", "Dropout", {{kBatch, 3}, Shape{}}, {}, {}, {}, "ratio (input 1) must be a constant"},
};

std::string shape_case_name(const ::testing::TestParamInfo<ShapeCase>& instance) {
  return instance.param.name;
}

INSTANTIATE_TEST_SUITE_P(Conv, ShapeRule, ::testing::ValuesIn(kConv), shape_case_name);
INSTANTIATE_TEST_SUITE_P(Pool, ShapeRule, ::testing::ValuesIn(kPool), shape_case_name);
INSTANTIATE_TEST_SUITE_P(Matrix, ShapeRule, ::testing::ValuesIn(kMatrix), shape_case_name);
INSTANTIATE_TEST_SUITE_P(Elementwise, ShapeRule, ::testing::ValuesIn(kElementwise), shape_case_name);
INSTANTIATE_TEST_SUITE_P(Shape, ShapeRule, ::testing::ValuesIn(kShapeRuleShape), shape_case_name);

}  // namespace
}  // namespace mangrove
